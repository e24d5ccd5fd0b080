import HabitStore

extension HistoryTransaction {
    /// A transaction of the history as JSON.
    package var json: JSON { .object(head.merging(["changes": .array(changes.map(\.json))]) { $1 }) }

    /// The transaction without its changes, of which there may be many.
    package var head: [String: JSON] {
        var members: [String: JSON] = ["token": .int(Int(token.rawValue)), "author": .optional(author)]
        members.set("timestamp", timestamp)
        return members
    }
}

extension HistoryChange {
    /// A change in a transaction as JSON.
    package var json: JSON {
        var members: [String: JSON] = ["entity": .string(entity), "id": .string(id.uuidString)]
        switch kind {
        case .insert: members["kind"] = .string("insert")
        case .update(let attributes):
            members["kind"] = .string("update")
            members["updatedAttributes"] = .array(attributes.map { .string($0) })
        case .delete(let tombstone):
            members["kind"] = .string("delete")
            var values: [String: JSON] = [:]
            for (name, value) in tombstone { values.set(name, value) }
            members["tombstone"] = .object(values)
        }
        return .object(members)
    }
}
