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
            let writer = try store.write(author: author) { transaction in
                var writer = MappedWriter(transaction)
                try writer.write(changed, batch.deletions)
                return writer
            }
            refused = writer.refused
            try account(writer, changed)
        }
        try ledger.enter(
            zip(batch.items, entries).filter { $0.record != nil && !refused.contains($1.record) }.map(\.1),
            gone: batch.deletions.map(\.record),
            transaction: transaction,
            model: file.modelHash
        )
    }

    private func account(_ writer: MappedWriter, _ items: [RecordMaker.Made]) throws {
        try work.lose(writer.losses)
        for name in writer.inserted { work.report.note(name) { $0.inserted += 1 } }
        for name in writer.updated { work.report.note(name) { $0.updated += 1 } }
        for item in items where item.record != nil && writer.refused.contains(item.name) {
            let source = item.plan.source
            guard let maker = work.makers[source.number], let row = try file.row(source, maker.reader, key: item.key)
            else { continue }
            try work.refuse(row, of: source)
        }
        for link in writer.danglingLinks { try work.attachment?.add(link) }
        try work.attachment?.flush()
        work.report.deleted += writer.deleted
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

extension RecordMaker.Made {
    /// A hash of the record's contents in the source.
    fileprivate var digest: String { SHA256.hash(data: Data(record?.bytes ?? [])).prefix(12).hexadecimal }
}

/// Writes a batch to a store of Swift types. Such a store cannot hold references to missing records or a unique value that another record
/// has; these are returned as losses and refused records.
struct MappedWriter {
    private let transaction: any WriteTransaction
    private let schema: Schema
    private(set) var losses: [ImportLoss] = []
    private(set) var refused: Set<String> = []
    private(set) var inserted: [String] = []
    private(set) var updated: [String] = []
    private(set) var deleted = 0
    /// The source rows of links to missing records.
    private(set) var danglingLinks: [UnmappedRow] = []
    /// The record that has each unique value in this batch.
    private var taken: [Unique: UUID] = [:]

    private struct Unique: Hashable {
        let entity: Int
        let attribute: Int
        let value: Value
    }

    private struct Target: Hashable {
        let entity: Int
        let id: UUID
    }

    init(_ transaction: any WriteTransaction) {
        self.transaction = transaction
        schema = transaction.schema
    }

    mutating func write(_ items: [RecordMaker.Made], _ deletions: [MappedBatch.Deletion]) throws {
        var writable: [(item: RecordMaker.Made, values: [Value])] = []
        for item in items {
            guard let record = item.record else {
                refused.insert(item.name)
                continue
            }
            let values = try record.values(schema.entities[item.plan.target].layout)
            if try takesUniqueValues(values, item) {
                writable.append((item, values))
            } else {
                refused.insert(item.name)
            }
        }
        // Refusing a record also refuses the records that require it.
        while true {
            let there = Set(writable.map { Target(entity: $0.item.plan.target, id: $0.item.id) })
            let before = writable.count
            writable = try writable.compactMap { item, values in
                guard let fixed = try withoutDangling(values, item, there) else {
                    refused.insert(item.name)
                    return nil
                }
                return (item, fixed)
            }
            if writable.count == before { break }
        }
        for (item, values) in writable { try store(item, values) }
        for deletion in deletions where try transaction.deleteRecord(deletion.id, entity: deletion.entity) {
            deleted += 1
        }
    }

    private mutating func store(_ item: RecordMaker.Made, _ values: [Value]) throws {
        let record = try EncodedRecord(values, layout: schema.entities[item.plan.target].layout)
        let before = try transaction.encodedRecord(item.id, entity: item.plan.target)
        if before == record { return }
        try transaction.save(record, entity: item.plan.target)
        if before == nil { inserted.append(item.plan.source.name) } else { updated.append(item.plan.source.name) }
    }

    // MARK: Refused values

    private mutating func takesUniqueValues(_ values: [Value], _ item: RecordMaker.Made) throws -> Bool {
        let entity = schema.entities[item.plan.target]
        for (place, attribute) in entity.attributes.enumerated().dropFirst()
        where attribute.isUnique && !values[place].isNull {
            let unique = Unique(entity: item.plan.target, attribute: place, value: values[place])
            var owner = taken[unique]
            if owner == nil {
                let filter = FilterExpression.compare(
                    .equal,
                    .attribute(AttributePath(attribute.name)),
                    .literal(values[place])
                )
                owner = try transaction.records(RecordQuery(entity: entity.name, filter: filter, limit: 1)).first?.id
            }
            if let owner, owner != item.id {
                lose(
                    item,
                    attribute.name,
                    "another \(entity.name) has the same \(attribute.name)",
                    JSON(stored: values[place])
                )
                return false
            }
            taken[unique] = item.id
        }
        return true
    }

    /// The values without references to missing records; nil if the record requires one of them.
    private mutating func withoutDangling(
        _ values: [Value],
        _ item: RecordMaker.Made,
        _ there: Set<Target>
    ) throws -> [Value]? {
        var values = values
        for relationship in schema.relationships[item.plan.target] where relationship.isStored {
            let attribute = schema.entities[item.plan.target].attributes[relationship.attribute]
            func leadsNowhere(_ id: UUID) throws -> Bool {
                if there.contains(Target(entity: relationship.destination, id: id)) { return false }
                return try !transaction.withRow(entity: relationship.destination, id: id) { _ in }
            }
            switch values[relationship.attribute] {
            case .uuid(let id):
                guard try leadsNowhere(id) else { continue }
                let key = item.keys[relationship.attribute]?[id]
                let value = key.map { JSON(stored: SourceValue.int($0)) } ?? JSON(stored: Value.uuid(id))
                lose(item, attribute.name, "leads to no record", value, item.column(relationship.attribute))
                guard attribute.isOptional else { return nil }
                values[relationship.attribute] = .null
            case .links(let ids):
                let dangling = try ids.filter(leadsNowhere)
                for id in dangling {
                    lose(item, attribute.name, "leads to no record", JSON(stored: Value.uuid(id)))
                    if let row = item.link(relationship.attribute, to: id) { danglingLinks.append(row) }
                }
                if !dangling.isEmpty { values[relationship.attribute] = .links(ids.filter { !dangling.contains($0) }) }
            default: continue
            }
        }
        return values
    }

    private mutating func lose(
        _ item: RecordMaker.Made,
        _ property: String,
        _ reason: String,
        _ value: JSON,
        _ column: String? = nil
    ) {
        losses.append(
            ImportLoss(
                entity: item.plan.source.name,
                key: item.key,
                id: item.id,
                property: property,
                table: item.plan.source.table,
                column: column,
                reason: reason,
                value: value
            )
        )
    }
}

extension WriteTransaction {
    /// Stores an encoded record through its Swift type, so that all rules for models apply.
    func save(_ record: EncodedRecord, entity: Int) throws {
        try save(record, schema.entities[entity].modelType, entity)
    }

    private func save<M: PersistentModel>(_ record: EncodedRecord, _ type: M.Type, _ entity: Int) throws {
        let model = try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            return try M(row: &reader)
        }
        try save(model)
    }

    /// Deletes the record with an identifier, applying the delete rules.
    func deleteRecord(_ id: UUID, entity: Int) throws -> Bool { try delete(id, schema.entities[entity].modelType) }

    private func delete<M: PersistentModel>(_ id: UUID, _ type: M.Type) throws -> Bool { try delete(type, id: id) }
}

extension ReadTransaction {
    /// The encoded record; nil if there is none.
    func encodedRecord(_ id: UUID, entity: Int) throws -> EncodedRecord? {
        var record: EncodedRecord?
        _ = try withRow(entity: entity, id: id) { record = try $0.encoded() }
        return record
    }
}
