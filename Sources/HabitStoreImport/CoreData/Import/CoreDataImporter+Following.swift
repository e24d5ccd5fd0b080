import Foundation
@_spi(Engines) import HabitStore

extension CoreDataImporter {
    /// Applies the source's transactions after `last`, each in its own transaction.
    ///
    /// The source's history says which records changed but not their values, so they get their current ones. Until the target has caught
    /// up, it can hold a later state of a record than its position says; then it equals the source.
    func follow(from last: Int64, _ progress: (Int, Int) throws -> Void) throws {
        report.mode = .followed
        let total = Int(clamping: (file.history?.last ?? last) - last)
        try compareOwned(behind: last)
        var done = 0
        try file.enumerateHistory(after: last) { source, changes in
            let gone = try goneKeys(changes)
            let carried = try carrier.carried(changes) { gone[Gone(target: $0.target, key: $1)] }
            try apply(source, carried, try companions(of: carried))
            done += 1
            try progress(done, max(done, total))
            try options.didCommit?(source.number)
            return true
        }
    }

    /// A record that the source no longer has.
    struct Gone: Hashable {
        let target: Int
        let key: Int64
    }

    /// The target's identifiers for keys that the source no longer has.
    private func goneKeys(_ changes: [CoreDataChange]) throws -> [Gone: UUID] {
        var wanted: [Gone] = []
        for change in changes {
            guard let entity = plan.entity(number: change.entity),
                try file.entityNumber(of: change.key, in: entity.source.table) == nil
            else { continue }
            wanted.append(Gone(target: entity.target, key: change.key))
        }
        guard !wanted.isEmpty else { return [:] }
        var result: [Gone: UUID] = [:]
        try target.read { transaction in
            for gone in Set(wanted) {
                let query = RecordQuery(
                    entity: plan.schema.entities[gone.target].name,
                    filter: .compare(.equal, .attribute(AttributePath("coreDataKey")), .literal(.int(gone.key))),
                    limit: 1
                )
                try transaction.enumerateRecords(query) { record in
                    result[gone] = record.id
                    return false
                }
            }
        }
        return result
    }

    private func apply(
        _ source: CoreDataTransaction,
        _ carried: [HistoryCarrier.Carried],
        _ companions: [HistoryCarrier.Carried]
    ) throws {
        try target.replicate { transaction in
            guard var position = try current(transaction), let last = position.transaction, last < source.number else {
                // Another process has applied it in the meantime.
                return
            }
            var changes: [HistoryChange] = []
            for item in carried { if let change = try apply(item, transaction) { changes.append(change) } }
            for item in companions {
                // The source's history does not record changes to companions, so they count only if a value differs.
                guard let change = try apply(item, transaction), change.kind != .update(updatedAttributes: []) else {
                    continue
                }
                changes.append(change)
            }
            position.transaction = source.number
            if source.number == file.history?.last { position.age = file.age }
            try write(position, to: transaction)
            changes.append(
                HistoryChange(
                    entity: DerivedSchema.sourceEntity,
                    id: position.id,
                    kind: .update(updatedAttributes: ["transaction"])
                )
            )
            try attachment?.flush()
            try append(source, changes, to: transaction)
        }
    }

    private func current(_ transaction: any ReplicaTransaction) throws -> SourcePosition? {
        guard let entity = plan.source else { return nil }
        let id = SourcePosition(file, identities: [:]).id
        return try transaction.record(entity: entity, id: id).map {
            try SourcePosition($0.values(plan.schema.entities[entity].layout))
        }
    }

    /// Applies one change; nil if the record was never in the target.
    private func apply(_ item: HistoryCarrier.Carried, _ transaction: any ReplicaTransaction) throws -> HistoryChange? {
        let entity = plan.schema.entities[item.entity.target]
        let before = try transaction.record(entity: item.entity.target, id: item.id)
        guard let row = try row(item) else {
            // Inserted and deleted between two imports, or deleted by this change.
            guard item.change.kind == .delete else { return nil }
            if before != nil {
                try transaction.remove(entity: item.entity.target, id: item.id)
                report.deleted += 1
            }
            return carrier.change(item)
        }
        if item.change.kind == .delete { return nil }
        guard let maker = makers[row.entity] else { return nil }
        let made = try maker.make(row.row, identity: plan.identities[item.entity.source.root])
        try account(made, of: maker.plan.source)
        guard let record = made.record else { return nil }
        try transaction.put(entity: item.entity.target, id: made.id, record)
        guard let before else {
            report.note(maker.plan.source.name) { $0.inserted += 1 }
            return HistoryChange(entity: entity.name, id: made.id, kind: .insert)
        }
        let names = try Self.differences(before, record, entity)
        if !names.isEmpty { report.note(maker.plan.source.name) { $0.updated += 1 } }
        return HistoryChange(entity: entity.name, id: made.id, kind: .update(updatedAttributes: names))
    }

    /// The source's row, with the number of its current entity.
    private func row(_ item: HistoryCarrier.Carried) throws -> (entity: Int, row: CoreDataRow)? {
        guard let number = try file.entityNumber(of: item.change.key, in: item.entity.source.table),
            let maker = makers[number],
            let row = try file.row(maker.plan.source, maker.reader, key: item.change.key)
        else { return nil }
        return (number, row)
    }

    /// The names of the attributes in which two records differ.
    static func differences(
        _ before: EncodedRecord,
        _ after: EncodedRecord,
        _ entity: EntityDescription
    ) throws -> [String] {
        guard before != after else { return [] }
        let (old, new) = (try before.values(entity.layout), try after.values(entity.layout))
        return zip(entity.attributes, zip(old, new)).filter { $0.1.0 != $0.1.1 }.map { $0.0.name }
    }
}
