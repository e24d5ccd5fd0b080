import Foundation
@_spi(Engines) import HabitStore

/// The records that a mapped import refused, and the references to them.
struct WitnessRefusals {
    private let kept: KeptValues
    private let target: any ReplicableStore

    private static let chunk = 2_000

    init(_ kept: KeptValues, _ target: any ReplicableStore) {
        (self.kept, self.target) = (kept, target)
    }

    /// Whether the target lacks a record that the attachment has whole.
    func has(_ table: String, _ key: Int64, _ id: UUID, _ entity: Int) throws -> Bool {
        guard try kept.hasRecord(table, key) else { return false }
        return try target.replicaRead { try $0.record(entity: entity, id: id) } == nil
    }

    /// Removes dangling references, and records that require them, since a store of Swift types has neither.
    func removeDanglingReferences(_ store: any ReplicableStore) throws {
        var isSettled = false
        while !isSettled {
            isSettled = true
            for entity in store.schema.entities.indices where try !removeDanglingReferences(of: entity, store) {
                isSettled = false
            }
        }
    }

    /// - Returns: whether no record was removed, so that no further reference can dangle.
    private func removeDanglingReferences(of entity: Int, _ store: any ReplicableStore) throws -> Bool {
        let layout = store.schema.entities[entity].layout
        var allStayed = true
        var last: UUID?
        var isAtEnd = false
        while !isAtEnd {
            var changes: [(id: UUID, record: EncodedRecord?)] = []
            try store.replicaRead { replica in
                isAtEnd = true
                try replica.enumerate(entity: entity, after: last) { id, record in
                    last = id
                    let before = try record.values(layout)
                    let values = try withoutDangling(before, entity, store.schema, replica)
                    let record = try values.map { try EncodedRecord($0, layout: layout) }
                    if values != before { changes.append((id, record)) }
                    isAtEnd = changes.count < Self.chunk
                    return isAtEnd
                }
            }
            try store.replicate { transaction in
                for change in changes {
                    if let record = change.record {
                        try transaction.put(entity: entity, id: change.id, record)
                    } else {
                        try transaction.remove(entity: entity, id: change.id)
                        allStayed = false
                    }
                }
            }
        }
        return allStayed
    }

    /// A record's values without dangling references; nil if it requires one.
    private func withoutDangling(
        _ values: [Value],
        _ entity: Int,
        _ schema: Schema,
        _ replica: any ReplicaSnapshot
    ) throws -> [Value]? {
        var values = values
        for relationship in schema.relationships[entity] where relationship.isStored {
            func leads(_ id: UUID) throws -> Bool {
                try replica.record(entity: relationship.destination, id: id) != nil
            }
            switch values[relationship.attribute] {
            case .uuid(let id):
                if try leads(id) { continue }
                guard schema.entities[entity].attributes[relationship.attribute].isOptional else { return nil }
                values[relationship.attribute] = .null
            case .links(let ids): values[relationship.attribute] = .links(try ids.filter(leads))
            default: continue
            }
        }
        return values
    }
}
