import Foundation
@_spi(Engines) import HabitStore
import Hashing
import JSONText

/// A store of Swift types, with a ledger of what was imported.
final class MappedDestination: ImportDestination {
    private let store: any HabitStore
    private let ledger: ImportLedger
    private let work: ImportWork
    private var file: CoreDataFile { work.file }
    private var plan: CoreDataPlan { work.plan }

    init(_ store: any HabitStore, _ ledger: ImportLedger, _ work: ImportWork) {
        (self.store, self.ledger, self.work) = (store, ledger, work)
    }

    func position() -> SourcePosition? {
        ledger.model.map { model in
            SourcePosition(
                storeID: file.metadata.storeID,
                model: model,
                identities: plan.identities,
                transaction: ledger.transaction,
                age: ledger.age
            )
        }
    }

    func require(_ position: SourcePosition?) throws {
        guard let position, position.model != file.modelHash else { return }
        let lacking = Set(plan.entities.map(\.source.root)).filter { plan.identities[$0] == nil }.sorted()
        guard !lacking.isEmpty else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the app has migrated the file to another version of its model since it was imported, which may give all records new "
                + "keys, and \(lacking.joined(separator: ", ")) have no identity but their keys",
            at: .init(path: file.path)
        )
    }

    func importAll(_ position: SourcePosition?, _ progress: (Int, Int) throws -> Void) throws {
        var batch = MappedBatch()
        try work.forEachRecord(progress) { batch.add($0) }
        try file.enumerateHistory(after: ledger.transaction ?? 0) { source, changes in
            try work.attachment?.add(ImportedTransaction(source, changes, file.model))
            return true
        }
        work.report.gone = ledger.items.keys.filter { !batch.known.contains($0) }.count
        try bring(batch, author: work.options.author, transaction: file.history?.last)
        try work.options.didCommit?(file.history?.last)
        try progress(work.total, work.total)
    }

    func prepare(toFollow last: Int64) {}

    func finish() throws { try ledger.enter(age: file.age) }

    // MARK: Following

    func apply(_ source: CoreDataTransaction, _ changes: [CoreDataChange]) throws {
        let batch = try batch(changes)
        try bring(batch, author: source.author ?? work.options.author, transaction: source.number)
        work.report.transactions += 1
        work.report.changes += batch.items.count + batch.deletions.count
        work.report.tombstones += batch.deletions.count
    }

    /// The records that a transaction changed, those that may have changed with them, and those that they refer to.
    private func batch(_ changes: [CoreDataChange]) throws -> MappedBatch {
        var batch = MappedBatch()
        var wanted: [(entity: CoreDataEntity, key: Int64)] = []
        for change in changes {
            guard let entity = plan.entity(number: change.entity) else { continue }
            let item = ledger.items[ImportLedger.record(entity.source.root, change.key)]
            wanted += try work.companions(of: change, entity) { try keys(leadingTo: item?.id, $0) }
            if try file.entityNumber(of: change.key, in: entity.source.table) != nil {
                wanted.append((entity.source, change.key))
            } else if change.kind == .delete, let item {
                batch.deletions.append(MappedBatch.Deletion(record: item.record, entity: entity.target, id: item.id))
            }
        }
        while let (entity, key) = wanted.popLast() {
            guard !batch.known.contains(ImportLedger.record(entity.root, key)),
                let (row, maker) = try work.row(key, in: entity.table)
            else { continue }
            batch.add(try work.make(row, maker))
            // The records it refers to must be stored with it, even if the source's history mentions them later.
            for target in try maker.targets(of: row)
            where ledger.items[ImportLedger.record(target.root, target.key)]?.digest == nil {
                guard let root = file.model.entity(target.root) else { continue }
                wanted.append((root, target.key))
            }
        }
        return batch
    }

    /// The keys of the store's records that refer to a record.
    private func keys(leadingTo id: UUID?, _ rule: DependentFields.Rule) throws -> [Int64] {
        guard let id else { return [] }
        let root = rule.entity.source.root
        return try store.read { try $0.records(rule.query(leadingTo: id, plan.schema)) }.compactMap { record in
            ledger.record(of: record.id, root: root).flatMap { Int64($0.dropFirst(root.count + 1)) }
        }
    }

    // MARK: Steps

    /// Writes a batch to the store in one transaction, except for records that the source has not changed since the last import.
    private func bring(_ batch: MappedBatch, author: String?, transaction: Int64?) throws {
        let entries = batch.items.map { ImportLedger.Item(record: $0.name, id: $0.id, digest: $0.digest) }
        let changed = zip(batch.items, entries).filter { made, entry in
            ledger.items[entry.record]?.digest != entry.digest || made.record == nil
        }.map(\.0)
        try work.attachment?.flush()
        try ledger.announce(
            changed.filter { $0.record != nil }.map { ImportLedger.Item(record: $0.name, id: $0.id) }
        )
        var refused: Set<String> = []
        if !changed.isEmpty || !batch.deletions.isEmpty {
            let (merge, deleted) = try store.write(author: author) { transaction in
                var merge = RecordMerge<RecordMaker.Made>(transaction)
                try merge.write(changed)
                let deleted = try batch.deletions.filter { try transaction.deleteRecord($0.id, entity: $0.entity) }
                return (merge, deleted.count)
            }
            refused = merge.refused
            work.report.deleted += deleted
            try account(merge, changed)
        }
        try ledger.enter(
            zip(batch.items, entries).filter { $0.record != nil && !refused.contains($1.record) }.map(\.1),
            gone: batch.deletions.map(\.record),
            transaction: transaction,
            model: file.modelHash
        )
    }

    private func account(_ merge: RecordMerge<RecordMaker.Made>, _ items: [RecordMaker.Made]) throws {
        try work.lose(merge.obstacles.map { loss($0.item, $0.attribute, $0.2) })
        for item in merge.inserted { work.report.note(item.plan.source.name) { $0.inserted += 1 } }
        for item in merge.updated { work.report.note(item.plan.source.name) { $0.updated += 1 } }
        for item in items where item.record != nil && merge.refused.contains(item.name) {
            let source = item.plan.source
            guard let maker = work.makers[source.number], let row = try file.row(source, maker.reader, key: item.key)
            else { continue }
            try work.refuse(row, of: source)
        }
        for case (let item, let attribute, .missing(let id)) in merge.obstacles {
            if let link = item.link(attribute, to: id) { try work.attachment?.add(link) }
        }
        try work.attachment?.flush()
    }

    private func loss(
        _ item: RecordMaker.Made,
        _ position: Int,
        _ obstacle: RecordMerge<RecordMaker.Made>.Obstacle
    ) -> ImportLoss {
        let entity = plan.schema.entities[item.entity]
        let attribute = entity.attributes[position]
        var (reason, column) = ("leads to no record", item.column(position))
        let value: JSON
        switch obstacle {
        case .taken(let taken):
            (reason, column) = ("another \(entity.name) has the same \(attribute.name)", nil)
            value = JSON(stored: taken)
        case .missing(let id):
            let key = attribute.kind == .links ? nil : item.keys[position]?[id]
            value = key.map { JSON(stored: SourceValue.int($0)) } ?? JSON(stored: Value.uuid(id))
        }
        return ImportLoss(
            entity: item.plan.source.name,
            key: item.key,
            id: item.id,
            property: attribute.name,
            table: item.plan.source.table,
            column: column,
            reason: reason,
            value: value
        )
    }
}

/// Source records to write to a store of Swift types in one transaction.
struct MappedBatch {
    /// A record that the source no longer has.
    struct Deletion {
        let record: String
        let entity: Int
        let id: UUID
    }

    private(set) var items: [RecordMaker.Made] = []
    var deletions: [Deletion] = []
    private(set) var known: Set<String> = []

    /// Adds a record unless the batch contains it.
    mutating func add(_ item: RecordMaker.Made) {
        if known.insert(item.name).inserted { items.append(item) }
    }
}

extension RecordMaker.Made: ForeignRecord {
    var entity: Int { plan.target }

    /// A hash of the record's contents in the source.
    fileprivate var digest: String { SHA256.hash(data: Data(record?.bytes ?? [])).prefix(12).hexadecimal }
}
