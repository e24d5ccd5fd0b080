import Foundation
@_spi(Engines) import HabitStore

/// Imports a Core Data file into a store by a mapping: one derived from the file's model, or one to a schema of Swift types.
///
/// A store of a derived schema equals its source. An empty one gets the records in batches, and then the source's history in one last
/// transaction. The source's transactions keep their order, times and authors; the transactions for what the history does not record come
/// first. No reader is served from the target before that.
///
/// A store of Swift types is written in its own transactions, so that its rules hold, its mirrors follow, and it stays in use. A ledger next to
/// it records what was imported. Later imports apply what the source has changed since, and leave alone what the user has changed or deleted
/// in the store. Such a store's history has its own tokens and times, so the source's existing history goes to the attachment.
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

    private let work: ImportWork
    private let destination: any ImportDestination

    private var file: CoreDataFile { work.file }

    /// Prepares an import into a store of a derived schema.
    ///
    /// - Parameter target: a store opened with ``CoreDataTarget/schema(for:outline:)``.
    public init(_ file: CoreDataFile, into target: any ReplicableStore, _ options: Options = Options()) throws {
        let known = try CoreDataTarget.position(in: target, of: file)
        let identities = try known?.identities ?? IdentityRule.choose(file)
        let plan = try DerivedSchema(file, identities: identities).plan(for: target.schema)
        if known != nil { try Self.require(target.schema, plan.schema, file) }
        work = try ImportWork(file, plan, notes: (target as? any MaintainableStore)?.path, options)
        destination = DerivedDestination(target, work)
    }

    /// Prepares an import into a store of Swift types.
    ///
    /// - Parameter notesPath: the base path of the ledger (`….ledger.jsonl`) and the attachment (`….unmapped.jsonl`).
    /// - Throws: ``HabitStoreError/Code/invalidValue`` if the mapping does not fit the file or the schema.
    public init(
        _ file: CoreDataFile,
        _ mapping: CoreDataMapping,
        into store: any HabitStore,
        notesPath: String,
        _ options: Options = Options()
    ) throws {
        work = try ImportWork(file, MappedPlan(mapping, file, store.schema).plan(), notes: notesPath, options)
        destination = MappedDestination(store, try ImportLedger(path: ImportNotes(base: notesPath).ledger), work)
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
        let position = try destination.position()
        try destination.require(position)
        if let position, position.model == file.modelHash { try file.requireNoOlder(than: position.age, work.options) }
        if let position, let last = position.transaction, let history = file.history, history.reaches(last) {
            // A follower checks often, and usually nothing is new.
            let untold = try position.age.flatMap { try file.age.untold(since: $0, file) }
            if !work.options.requiresHistory || untold != nil || last != history.last { try work.keepLeftovers() }
            let tally = work.report.tally
            try follow(from: last, to: history.last, progress)
            if let untold {
                work.report.compareInstead(untold, from: tally)
                try importAll(position, progress)
            }
        } else {
            if work.options.requiresHistory, position != nil || file.history == nil { throw lacking(position) }
            try work.keepLeftovers()
            try importAll(position, progress)
        }
        try destination.finish()
        return work.finish()
    }

    private func importAll(_ position: SourcePosition?, _ progress: (Int, Int) throws -> Void) throws {
        work.report.mode = position == nil ? .first : .compared
        try destination.importAll(position, progress)
    }

    /// Applies the source's transactions after `last`, each in its own transaction.
    ///
    /// The source's history says which records changed but not their values, so they get their current ones. Until the target has caught
    /// up, it can hold a later state of a record than its position says; then it equals the source.
    private func follow(from last: Int64, to newest: Int64, _ progress: (Int, Int) throws -> Void) throws {
        work.report.mode = .followed
        let total = Int(clamping: newest - last)
        try destination.prepare(toFollow: last)
        var done = 0
        try file.enumerateHistory(after: last) { source, changes in
            try destination.apply(source, changes)
            done += 1
            try progress(done, max(done, total))
            try work.options.didCommit?(source.number)
            return true
        }
    }

    /// The error for a history that is required and does not lead from the target's position to the file's state.
    private func lacking(_ position: SourcePosition?) -> HabitStoreError {
        func error(_ code: HabitStoreError.Code, _ message: String) -> HabitStoreError {
            HabitStoreError(code, message, at: .init(path: file.path))
        }
        guard let history = file.history else {
            return error(
                .unsupported,
                position == nil
                    ? "the file has no persistent history that shows what is changed or deleted; it can be imported, but not "
                        + "followed"
                    : "the file has no persistent history that shows what was changed or deleted since; it can be imported "
                        + "again, but not followed"
            )
        }
        guard let last = position?.transaction else {
            return error(
                .unsupported,
                "the file had no persistent history when it was imported; import it again once, then it can be followed"
            )
        }
        if history.last < last {
            return error(
                .historyExpired,
                "the file's history ends at transaction \(history.last), before \(last), which the store has: the file is an "
                    + "older one"
            )
        }
        return error(
            .historyExpired,
            "the file's history begins at transaction \(history.first), and the store has it up to \(last): what is between "
                + "was pruned; import the file again to compare everything"
        )
    }
}

extension CoreDataHistory {
    /// Whether the history contains everything after a transaction.
    func reaches(_ transaction: Int64) -> Bool {
        transaction <= last && (first <= transaction + 1 || transaction == last)
    }
}

/// The store that an import writes to.
protocol ImportDestination {
    /// The state of the source that the store has; nil before the first import.
    func position() throws -> SourcePosition?

    /// Refuses a store that holds other records, and a source whose keys may mean other records since.
    func require(_ position: SourcePosition?) throws

    /// Imports every record: into a store without a position, or where the store differs from the source.
    func importAll(_ position: SourcePosition?, _ progress: (Int, Int) throws -> Void) throws

    /// Imports what the source's history after a transaction does not record.
    func prepare(toFollow last: Int64) throws

    /// Applies a transaction of the source's history, and advances the position, in one transaction.
    func apply(_ source: CoreDataTransaction, _ changes: [CoreDataChange]) throws

    /// Notes that the store equals the source.
    func finish() throws
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
