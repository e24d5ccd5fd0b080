import Foundation
@_spi(Engines) import HabitStore

/// Imports a Core Data file into a store whose schema is derived from the file's model.
///
/// An empty target gets the records in batches, and then the source's history in one last transaction. The source's transactions keep their
/// order, times and authors; the transactions for what the history does not record come first. No reader is served from the target before
/// that.
///
/// Later imports follow a source's history transaction by transaction. Each becomes one transaction of the target, which also advances the
/// target's position, so that nothing is lost or applied twice after an interruption. Without a history, or if it was pruned too far, every
/// record is compared; records missing from the source are counted but kept, since nothing proves that they were deleted.
public final class CoreDataImporter {
    /// Options of an import.
    public struct Options: Sendable {
        /// The author of transactions that are not from the source's history.
        public var author = "Core Data import"
        /// Whether to only follow the source's history and never compare all records.
        public var requiresHistory = false
        /// The path for values that the target cannot hold; nil for a file next to the target.
        public var attachmentPath: String?
        /// Whether to import an earlier state of the file over a later one.
        public var allowsOlder = false
        /// The clock for transactions that are not from the source's history.
        public var now: @Sendable () -> Date = { Date() }
        /// Called after each commit with the last source transaction in the target. Throwing ends the import.
        public var didCommit: (@Sendable (Int64?) throws -> Void)?

        /// Default options.
        public init() {}
    }

    let file: CoreDataFile
    let plan: CoreDataPlan
    let target: any ReplicableStore
    let options: Options
    let resolver: IdentityResolver
    let carrier: HistoryCarrier
    let makers: [Int: RecordMaker]
    let companionRules: DependentFields
    var report: CoreDataImportReport
    let attachment: ImportAttachment?
    private let statement: ImportStatement?

    /// Prepares an import.
    ///
    /// - Parameter target: a store opened with ``CoreDataTarget/schema(for:outline:)``.
    public convenience init(_ file: CoreDataFile, into target: any ReplicableStore, _ options: Options = Options())
        throws
    {
        let known = try CoreDataTarget.position(in: target, of: file)
        let identities = try known?.identities ?? IdentityRule.choose(file)
        let plan = try DerivedSchema(file, identities: identities).plan(for: target.schema)
        if known != nil { try Self.require(target.schema, plan.schema, file) }
        try self.init(file, plan, into: target, options)
    }

    init(_ file: CoreDataFile, _ plan: CoreDataPlan, into target: any ReplicableStore, _ options: Options) throws {
        self.file = file
        self.plan = plan
        self.target = target
        self.options = options
        let resolver = try IdentityResolver(file, plan.identities)
        self.resolver = resolver
        carrier = HistoryCarrier(plan, file, resolver)
        companionRules = DependentFields(plan, file.model)
        makers = Dictionary(
            try plan.entities.map { ($0.source.number, try RecordMaker($0, plan.schema, file, resolver)) },
            uniquingKeysWith: { first, _ in first }
        )
        report = try CoreDataImportReport(plan, file)
        let base = (target as? any MaintainableStore)?.path
        attachment = try (options.attachmentPath ?? base.map { ImportNotes(base: $0).attachment }).map {
            try ImportAttachment(path: $0)
        }
        statement = base.map { ImportStatement(path: ImportNotes(base: $0).statement) }
    }

    /// An earlier version of this program may have read less of the file.
    private static func require(_ schema: Schema, _ derived: Schema, _ file: CoreDataFile) throws {
        guard let difference = StoredSchema(schema).differences(from: StoredSchema(derived)).first else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the store has another schema than follows from the file (\(difference)): the app has changed its model, or an "
                + "earlier version of this program read less of it; import it into a new store",
            at: .init(path: file.path)
        )
    }

    /// Runs the import.
    ///
    /// - Parameter progress: called regularly with the number of records or transactions done and their total; throwing ends the import and
    ///   keeps what is committed.
    /// - Throws: ``HabitStoreError/Code/olderSource`` if the file is in an earlier state than the last import;
    ///   ``HabitStoreError/Code/historyExpired`` or ``HabitStoreError/Code/unsupported`` if a history is required and the source's does not
    ///   reach back far enough or does not exist; ``HabitStoreError/Code/schemaMismatch`` if the app has migrated the source since, so that
    ///   its keys may mean other records.
    public func run(progress: (Int, Int) throws -> Void = { _, _ in }) throws -> CoreDataImportReport {
        let position = try CoreDataTarget.position(in: target, of: file)
        guard let position else {
            guard try BulkLoad.isPossible(in: target) else { throw foreign() }
            try keepLeftovers()
            try importFirst(progress)
            return finish()
        }
        try requireSameModel(position)
        try file.requireNoOlder(than: position.age, options)
        // A follower checks often, and usually nothing is new.
        let untold = try position.age.flatMap { try file.history == nil ? nil : file.age.untold(since: $0, file) }
        if !options.requiresHistory || untold != nil || position.transaction != file.history?.last {
            try keepLeftovers()
        }
        if let last = position.transaction, let history = file.history, history.reaches(last) {
            let tally = report.tally
            try follow(from: last, progress)
            if let untold {
                report.compareInstead(untold, from: tally)
                try compareAll(progress)
            }
        } else {
            if options.requiresHistory { throw lacking(position) }
            try compareAll(progress)
        }
        return finish()
    }

    private func finish() -> CoreDataImportReport {
        report.position = file.history?.last
        report.shortfalls = report.findShortfalls()
        if let attachment, !attachment.isEmpty { report.attachment = attachment.path }
        return report
    }

    /// Saves what does not belong to the model before importing anything else, and lists what is not kept.
    private func keepLeftovers() throws {
        let leftovers = UnmappedData(file, plan)
        try leftovers.keep { loss, line in
            report.count([loss])
            try attachment?.add(line)
        }
        try attachment?.flush()
        report.notCarried = try leftovers.notCarried()
        try statement?.write(report.notCarried)
    }

    // MARK: Refusals

    private func foreign() -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the store holds records that do not come from this Core Data file; import into a new store",
            at: .init(path: (target as? any MaintainableStore)?.path)
        )
    }

    private func requireSameModel(_ position: SourcePosition) throws {
        guard position.model != file.modelHash else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the app has migrated the file to another version of its model since it was imported, which may give all records "
                + "new keys; import it into a new store",
            at: .init(path: file.path)
        )
    }

    private func lacking(_ position: SourcePosition) -> HabitStoreError {
        guard let history = file.history else {
            return HabitStoreError(
                .unsupported,
                "the file has no persistent history that shows what was changed or deleted since; it can be imported again, "
                    + "but not followed",
                at: .init(path: file.path)
            )
        }
        guard let last = position.transaction else {
            return HabitStoreError(
                .unsupported,
                "the file had no persistent history when it was imported; import it again once, then it can be followed",
                at: .init(path: file.path)
            )
        }
        if history.last < last {
            return HabitStoreError(
                .historyExpired,
                "the file's history ends at transaction \(history.last), before \(last), which the store has: the file is an "
                    + "older one",
                at: .init(path: file.path)
            )
        }
        return HabitStoreError(
            .historyExpired,
            "the file's history begins at transaction \(history.first), and the store has it up to \(last): what is between "
                + "was pruned; import the file again to compare everything",
            at: .init(path: file.path)
        )
    }

    // MARK: Steps

    /// Counts a record's losses and adds them to the attachment.
    func account(_ made: RecordMaker.Made, of entity: CoreDataEntity) throws {
        report.count(made.losses)
        report.count(odd: made.odd)
        report.normalizedTexts += made.normalizedTexts
        report.replacedTexts += made.replacedTexts
        if made.record == nil { report.note(entity.name) { $0.refused += 1 } }
        try attachment?.add(made.losses)
    }

    /// Stores the target's position, within a transaction.
    func write(_ position: SourcePosition, to transaction: any ReplicaTransaction) throws {
        guard let entity = plan.source else { return }
        let record = try position.record(plan.schema.entities[entity].layout)
        try transaction.put(entity: entity, id: position.id, record)
    }
}

extension CoreDataHistory {
    /// Whether the history contains everything after a transaction.
    func reaches(_ transaction: Int64) -> Bool {
        transaction <= last && (first <= transaction + 1 || transaction == last)
    }
}

extension CoreDataImporter {
    /// Imports everything into an empty target.
    ///
    /// Records come first, in batches that leave no trace in the target's history. No reader is served from the target until the last
    /// transaction, which adds the history and the position; an interrupted import starts again from the beginning.
    func importFirst(_ progress: (Int, Int) throws -> Void) throws {
        if options.requiresHistory, file.history == nil { throw withoutHistory() }
        report.mode = .first
        var filling = try BulkLoad(target)
        let total = report.entities.reduce(0) { $0 + $1.records }
        var untold: [Int: SpilledIdentifiers] = [:]
        var batch: BulkLoad.Batch = []
        var done = 0
        for entity in plan.entities {
            guard let maker = makers[entity.source.number] else { continue }
            var told = try SeenKeys(file, root: entity.source.root)
            let ids = untold[entity.target] ?? SpilledIdentifiers()
            untold[entity.target] = ids
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                try account(made, of: entity.source)
                if let record = made.record {
                    batch.append((entity.target, made.id, record))
                    report.note(entity.source.name) { $0.inserted += 1 }
                    if try !told.contains(row.key) { try ids.append(made.id) }
                }
                done += 1
                if batch.count >= BulkLoad.batch {
                    try attachment?.flush()
                    try filling.put(batch)
                    batch = []
                    try progress(done, total)
                }
                return true
            }
        }
        let position = SourcePosition(file, identities: plan.identities)
        try attachment?.flush()
        try filling.finish(batch) { transaction in
            try write(position, to: transaction)
            let source = plan.source.map {
                HistoryChange(entity: plan.schema.entities[$0].name, id: position.id, kind: .insert)
            }
            try BulkLoad.tell(
                untold,
                and: [source].compactMap { $0 },
                author: options.author,
                at: options.now(),
                plan.schema,
                transaction
            )
            try carryHistory(transaction)
            try attachment?.flush()
            try progress(total, total)
        }
        try options.didCommit?(position.transaction)
    }

    private func withoutHistory() -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the file has no persistent history that shows what is changed or deleted; it can be imported, but not followed",
            at: .init(path: file.path)
        )
    }

    /// Appends a transaction made by the import itself.
    func append(_ changes: [HistoryChange], to transaction: any ReplicaTransaction) throws {
        guard !changes.isEmpty else { return }
        try transaction.append(
            HistoryTransaction(
                token: try transaction.nextToken(),
                timestamp: options.now(),
                author: options.author,
                changes: changes
            )
        )
    }

    private func carryHistory(_ transaction: any ReplicaTransaction) throws {
        try file.enumerateHistory { source, changes in
            let carried = try carrier.carried(changes) { _, _ in nil }
            try append(source, carried.map { carrier.change($0) }, to: transaction)
            return true
        }
    }

    func append(
        _ source: CoreDataTransaction,
        _ changes: [HistoryChange],
        to transaction: any ReplicaTransaction
    ) throws {
        let net = HistoryCarrier.net(changes)
        if source.author?.isReplacedByNFC == true {
            report.replacedTexts += 1
            try attachment?.add(ImportedTransaction(source, [], file.model))
        }
        try transaction.append(
            HistoryTransaction(
                token: try transaction.nextToken(),
                timestamp: source.timestamp,
                author: source.author,
                changes: net
            )
        )
        report.transactions += 1
        report.changes += net.count
        report.tombstones += net.filter { if case .delete = $0.kind { true } else { false } }.count
    }
}

extension ReplicaTransaction {
    func nextToken() throws -> HistoryToken { HistoryToken(rawValue: try information().token.rawValue + 1) }
}

extension CoreDataFile {
    /// Refuses a file that is in an earlier state than the last import: it would bring back deleted records and undo changes.
    func requireNoOlder(than age: SourceAge?, _ options: CoreDataImporter.Options) throws {
        guard !options.allowsOlder, let age, let sign = try self.age.sign(ofBeingOlderThan: age, connection) else {
            return
        }
        throw HabitStoreError(
            .olderSource,
            "the file is older than what was imported last: \(sign); nothing was changed (--allow-older imports it "
                + "anyway)",
            at: .init(path: path)
        )
    }
}

/// Prepares a store to be the target of a Core Data import.
public enum CoreDataTarget {
    /// The schema to open the target of a file with.
    ///
    /// - Parameter outline: the outline of an existing target; nil for a new one.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the target was not made from a Core Data file.
    public static func schema(for file: CoreDataFile, outline: StoreOutline? = nil) throws -> Schema {
        if let outline {
            guard let stored = outline.schema,
                stored.entities.contains(where: { $0.name == DerivedSchema.sourceEntity })
            else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store was not made from a Core Data file; name a new one, or give a mapping to its schema"
                )
            }
            return Schema(shapes: stored.entities, version: stored.version)
        }
        return try DerivedSchema(file, identities: try IdentityRule.choose(file)).plan().schema
    }

    /// The target's position in a file; nil if the file was never imported.
    static func position(in store: any ReplicableStore, of file: CoreDataFile) throws -> SourcePosition? {
        guard let entity = try? store.schema.position(ofEntity: DerivedSchema.sourceEntity) else { return nil }
        let id = SourcePosition(storeID: file.metadata.storeID, model: "", identities: [:], transaction: nil).id
        let layout = store.schema.entities[entity].layout
        return try store.replicaRead { replica in
            try replica.record(entity: entity, id: id).map { try SourcePosition($0.values(layout)) }
        }
    }
}

/// Keeps a store equal to a Core Data file while its app continues to write to it.
///
/// Not thread-safe: use it from one thread at a time.
public final class CoreDataMirror {
    /// Imports one state of the file into the store.
    public typealias Update = (
        CoreDataFile, CoreDataImporter.Options, (Int, Int) throws -> Void
    ) throws -> CoreDataImportReport

    private let path: String
    private let apply: Update
    private var seen: SourceStamps?

    /// Creates a mirror.
    public init(path: String, _ apply: @escaping Update) {
        self.path = path
        self.apply = apply
    }

    /// An update for a store whose schema is derived from the file's model. It opens the store for each update and closes it afterwards, so
    /// that others can use it in between.
    ///
    /// - Parameter open: opens the store with ``CoreDataTarget/schema(for:outline:)``.
    public static func derived(
        _ open: @escaping (CoreDataFile) throws -> any UserStoreBackend
    ) -> Update {
        { file, options, progress in
            let store = try open(file)
            defer { store.close() }
            return try CoreDataImporter(file, into: store, options).run(progress: progress)
        }
    }

    /// Updates the store, unless the file is unchanged since the last time.
    ///
    /// - Returns: the report; nil if the file is unchanged.
    /// - Throws: errors from opening and importing the file.
    public func update(
        _ options: CoreDataImporter.Options = CoreDataImporter.Options(),
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> CoreDataImportReport? {
        if let seen, let now = SourceStamps(try WholeFile.resolved(path)), now == seen { return nil }
        let file = try CoreDataFile(path: path)
        defer { file.close() }
        let report = try apply(file, options, progress)
        seen = file.stamps
        return report
    }
}
