import Foundation
import HabitStore
import JSONText

/// Imports a Core Data file into a store of Swift types by a mapping. It uses the store's own transactions, so that the store's rules hold,
/// its mirrors follow, and it stays in use.
///
/// A ledger next to the store records what was imported. The next import applies what the source has changed since, and leaves alone what
/// the user has changed or deleted in the store. The store's history has its own tokens and times, so the source's existing history goes to
/// the attachment. Later source transactions are followed, each in one transaction of the store with the same author.
public final class MappedImporter {
    let file: CoreDataFile
    let plan: CoreDataPlan
    let store: any HabitStore
    let options: CoreDataImporter.Options
    let resolver: IdentityResolver
    let makers: [Int: RecordMaker]
    let ledger: ImportLedger
    let attachment: ImportAttachment
    var report: CoreDataImportReport
    let companionRules: DependentFields
    private let statement: ImportStatement

    /// Prepares an import.
    ///
    /// - Parameters:
    ///   - store: a store whose schema has Swift types.
    ///   - notesPath: the base path of the ledger (`….ledger.jsonl`) and the attachment (`….unmapped.jsonl`).
    /// - Throws: ``HabitStoreError/Code/invalidValue`` if the mapping does not fit the file or the schema.
    public init(
        _ file: CoreDataFile,
        _ mapping: CoreDataMapping,
        into store: any HabitStore,
        notesPath: String,
        _ options: CoreDataImporter.Options = CoreDataImporter.Options()
    ) throws {
        self.file = file
        self.store = store
        self.options = options
        let plan = try MappedPlan(mapping, file, store.schema).plan()
        let resolver = try IdentityResolver(file, plan.identities)
        self.plan = plan
        self.resolver = resolver
        makers = Dictionary(
            try plan.entities.map { ($0.source.number, try RecordMaker($0, plan.schema, file, resolver)) },
            uniquingKeysWith: { first, _ in first }
        )
        companionRules = DependentFields(plan, file.model)
        let notes = ImportNotes(base: notesPath)
        ledger = try ImportLedger(path: notes.ledger)
        attachment = try ImportAttachment(path: options.attachmentPath ?? notes.attachment)
        statement = ImportStatement(path: notes.statement)
        report = try CoreDataImportReport(plan, file)
    }

    /// Runs the import.
    ///
    /// - Parameter progress: called regularly with the number of records or transactions done and their total.
    /// - Throws: the errors of ``CoreDataImporter/run(progress:)``.
    public func run(progress: (Int, Int) throws -> Void = { _, _ in }) throws -> CoreDataImportReport {
        if options.requiresHistory, file.history == nil {
            throw HabitStoreError(
                .unsupported,
                "the file has no persistent history that shows what is changed or deleted; it can be imported, but not followed",
                at: .init(path: file.path)
            )
        }
        try requireSameModel()
        if ledger.model == file.modelHash { try file.requireNoOlder(than: ledger.age, options) }
        if ledger.model != nil, let last = ledger.transaction, let history = file.history, history.reaches(last) {
            let untold = try ledger.age.flatMap { try file.age.untold(since: $0, file) }
            if !options.requiresHistory || untold != nil || last < history.last { try keepLeftovers() }
            let tally = report.tally
            try follow(from: last, progress)
            if let untold {
                report.compareInstead(untold, from: tally)
                try bringAll(progress)
            }
        } else {
            if options.requiresHistory, ledger.model != nil { throw expired() }
            try keepLeftovers()
            try bringAll(progress)
        }
        try ledger.enter(age: file.age)
        report.position = file.history?.last
        report.shortfalls = report.findShortfalls()
        if !attachment.isEmpty { report.attachment = attachment.path }
        return report
    }

    private func requireSameModel() throws {
        guard let model = ledger.model, model != file.modelHash else { return }
        let lacking = Set(plan.entities.map(\.source.root)).filter { plan.identities[$0] == nil }.sorted()
        guard !lacking.isEmpty else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the app has migrated the file to another version of its model since it was imported, which may give all records new "
                + "keys, and \(lacking.joined(separator: ", ")) have no identity but their keys",
            at: .init(path: file.path)
        )
    }

    private func expired() -> HabitStoreError {
        HabitStoreError(
            .historyExpired,
            "the file's history does not reach back to what was imported; import the file again to compare everything",
            at: .init(path: file.path)
        )
    }

    /// Saves what the entities of the schema have no place for.
    private func keepLeftovers() throws {
        let leftovers = UnmappedData(file, plan)
        try leftovers.keep { loss, line in
            report.count([loss])
            try attachment.add(line)
        }
        try attachment.flush()
        report.notCarried = try leftovers.notCarried()
        try statement.write(report.notCarried)
    }

    // MARK: Complete imports

    private func bringAll(_ progress: (Int, Int) throws -> Void) throws {
        report.mode = ledger.model == nil ? .first : .compared
        let total = report.entities.reduce(0) { $0 + $1.records }
        var done = 0
        var batch = MappedBatch()
        for entity in file.model.entities {
            let maker = makers[entity.number]
            try file.enumerate(entity, maker?.reader ?? CoreDataRowReader(entity, in: file)) { row in
                if let maker { try add(row, maker, to: &batch) } else { try keep(row, of: entity) }
                done += 1
                if done % 1_024 == 0 { try progress(done, total) }
                return true
            }
        }
        try keepHistory(after: ledger.transaction ?? 0)
        report.gone = ledger.items.keys.filter { !batch.known.contains($0) }.count
        try bring(batch, author: options.author, transaction: file.history?.last)
        try progress(total, total)
    }

    func add(_ row: CoreDataRow, _ maker: RecordMaker, to batch: inout MappedBatch) throws {
        let root = maker.plan.source.root
        let made = try maker.make(row, identity: plan.identities[root])
        report.count(made.losses)
        report.count(odd: made.odd)
        report.normalizedTexts += made.normalizedTexts
        report.replacedTexts += made.replacedTexts
        try attachment.add(made.losses)
        batch.add(MappedBatch.Item(root: root, key: row.key, plan: maker.plan, made: made))
        if made.record == nil { try keepRow(row, of: maker.plan.source, "not brought over") }
    }

    /// Adds a whole record that was not imported to the attachment, with its links.
    private func keepRow(_ row: CoreDataRow, of entity: CoreDataEntity, _ reason: String) throws {
        let id = try resolver.identifier(root: entity.root, key: row.key)
        try attachment.add(ImportedRow(row, of: entity, id: id, reason: reason))
        for link in try UnmappedRow.links(of: row.key, entity, file) { try attachment.add(link) }
    }

    /// Adds a record without an entity in the schema to the attachment.
    private func keep(_ row: CoreDataRow, of entity: CoreDataEntity) throws {
        let id = try resolver.identifier(root: entity.root, key: row.key)
        let reason = "no entity in the schema"
        try attachment.add(ImportedRow(row, of: entity, id: id, reason: reason))
        report.count([
            ImportLoss(
                entity: entity.name,
                key: row.key,
                id: nil,
                property: nil,
                reason: reason,
                value: JSON(stored: Value.null)
            )
        ])
    }

    private func keepHistory(after number: Int64) throws {
        try file.enumerateHistory(after: number) { source, changes in
            try attachment.add(ImportedTransaction(source, changes, file.model))
            return true
        }
    }

    // MARK: Steps

    /// Writes a batch to the store in one transaction, except for records that the source has not changed since the last import.
    func bring(_ batch: MappedBatch, author: String?, transaction: Int64?) throws {
        let changed = batch.items.filter { item in
            ledger.items[item.record]?.digest != item.digest || item.made.record == nil
        }
        try attachment.flush()
        try ledger.announce(
            changed.filter { $0.made.record != nil }.map { ImportLedger.Item(record: $0.record, id: $0.made.id) }
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
        let stored = batch.items.filter { !refused.contains($0.record) && $0.made.record != nil }
        try ledger.enter(
            stored.map { ImportLedger.Item(record: $0.record, id: $0.made.id, digest: $0.digest) },
            gone: batch.deletions.map(\.record),
            transaction: transaction,
            model: file.modelHash
        )
        try options.didCommit?(transaction)
    }

    private func account(_ writer: MappedWriter, _ items: [MappedBatch.Item]) throws {
        report.count(writer.losses)
        try attachment.add(writer.losses)
        for name in writer.inserted { report.note(name) { $0.inserted += 1 } }
        for name in writer.updated { report.note(name) { $0.updated += 1 } }
        for item in items where writer.refused.contains(item.record) {
            report.note(item.plan.source.name) { $0.refused += 1 }
            guard item.made.record != nil, let maker = makers[item.plan.source.number],
                let row = try file.row(item.plan.source, maker.reader, key: item.key)
            else { continue }
            try keepRow(row, of: item.plan.source, "not brought over")
        }
        for link in writer.danglingLinks { try attachment.add(link) }
        try attachment.flush()
        report.deleted += writer.deleted
    }
}

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
    private func leading(to id: UUID, _ rule: DependentFields.Rule) throws -> [UUID] {
        let (attribute, target) = (
            FilterExpression.attribute(AttributePath(rule.attribute)), FilterExpression.literal(.uuid(id))
        )
        let filter: FilterExpression =
            rule.isLinks ? .text(.contains, attribute, target) : .compare(.equal, attribute, target)
        let name = plan.schema.entities[rule.target].name
        return try store.read { try $0.records(RecordQuery(entity: name, filter: filter)).map(\.id) }
    }
}
