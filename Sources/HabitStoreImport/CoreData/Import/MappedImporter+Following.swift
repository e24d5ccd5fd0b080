import Foundation
import HabitStore

extension MappedImporter {
    /// Applies the source's transactions after `last`, each in its own transaction.
    func follow(from last: Int64, _ progress: (Int, Int) throws -> Void) throws {
        report.mode = .followed
        let total = Int(clamping: (file.history?.last ?? last) - last)
        var done = 0
        try file.enumerateHistory(after: last) { source, changes in
            let batch = try batch(changes)
            try bring(batch, author: source.author ?? options.author, transaction: source.number)
            report.transactions += 1
            report.changes += batch.items.count + batch.deletions.count
            report.tombstones += batch.deletions.count
            done += 1
            try progress(done, max(done, total))
            return true
        }
    }

    /// The records that a transaction changed, those that may have changed with them, and those that they refer to.
    private func batch(_ changes: [CoreDataChange]) throws -> MappedBatch {
        var batch = MappedBatch()
        var wanted: [(table: String, root: String, key: Int64)] = []
        for change in changes {
            guard let entity = plan.entity(number: change.entity) else { continue }
            let source = entity.source
            wanted += try companions(of: change, entity)
            if try file.entityNumber(of: change.key, in: source.table) != nil {
                wanted.append((source.table, source.root, change.key))
            } else if change.kind == .delete,
                let item = ledger.items[ImportLedger.record(source.root, change.key)]
            {
                batch.deletions.append(MappedBatch.Deletion(record: item.record, entity: entity.target, id: item.id))
            }
        }
        while let (table, root, key) = wanted.popLast() {
            guard !batch.known.contains(ImportLedger.record(root, key)),
                let number = try file.entityNumber(of: key, in: table), let maker = makers[number],
                let row = try file.row(maker.plan.source, maker.reader, key: key)
            else { continue }
            try add(row, maker, to: &batch)
            // The records it refers to must be stored with it, even if the source's history mentions them later.
            for target in try maker.targets(of: row)
            where ledger.items[ImportLedger.record(target.root, target.key)]?.digest == nil {
                guard let table = file.model.entity(target.root)?.table else { continue }
                wanted.append((table, target.root, target.key))
            }
        }
        return batch
    }

    /// The records that refer to a record, in the source or in the store's last state, and whose changes the source may not record.
    private func companions(
        of change: CoreDataChange,
        _ entity: CoreDataPlan.Entity
    ) throws -> [(table: String, root: String, key: Int64)] {
        var result: [(String, String, Int64)] = []
        for rule in companionRules.rules(for: entity.source.number, change.kind) {
            guard let owner = plan.entities.first(where: { $0.target == rule.target && $0.source.table == rule.table })
            else { continue }
            let root = owner.source.root
            let statement = try file.connection.prepare(rule.keys)
            try statement.bind(change.key, at: 1)
            while try statement.step() {
                if let other = statement.optionalInt(0) { result.append((rule.table, root, other)) }
            }
            guard let id = ledger.items[ImportLedger.record(entity.source.root, change.key)]?.id else { continue }
            for other in try leading(to: id, rule) {
                guard let record = ledger.record(of: other, root: root),
                    let key = Int64(record.dropFirst(root.count + 1))
                else { continue }
                result.append((rule.table, root, key))
            }
        }
        return result
    }

    /// The store's records that refer to a record.
    private func leading(to id: UUID, _ rule: CompanionRules.Rule) throws -> [UUID] {
        let (attribute, target) = (
            FilterExpression.attribute(AttributePath(rule.attribute)), FilterExpression.literal(.uuid(id))
        )
        let filter: FilterExpression =
            rule.isLinks ? .text(.contains, attribute, target) : .compare(.equal, attribute, target)
        let name = plan.schema.entities[rule.target].name
        return try store.read { try $0.records(RecordQuery(entity: name, filter: filter)).map(\.id) }
    }
}
