import Foundation
@_spi(Engines) import HabitStore

/// Brings a Core Data file into a store whose schema is derived from the file's model.
///
/// An empty target gets the records first, a batch at a time, and in a last transaction the source's history: its transactions
/// keep their order, times and authors, behind those that have what the history does not tell of. Until then nobody is served from
/// the target. Later, a source with a history is followed transaction by transaction, each a transaction of the target in which the target's position changes too, so that nothing
/// is lost or done twice wherever it is interrupted. Without a history, or where it was pruned too far, every record is
/// compared; what the source no longer has is counted then and left, since nothing proves that it was deleted.
public final class CoreDataImporter {
    /// What may be wanted of an import.
    public struct Options: Sendable {
        /// The author of what is not the source's own history.
        public var author = "Core Data import"
        /// Whether only the source's history may be followed: no comparison of everything.
        public var requiresHistory = false
        /// Where what the target cannot hold is kept; nil for beside the target.
        public var attachmentPath: String?
        /// Whether an earlier state of the file may take the place of a later one.
        public var allowsOlder = false
        /// The clock that stamps what is not the source's own history.
        public var now: @Sendable () -> Date = { Date() }
        /// Called behind each commit with the source's transaction that the target has; a throw ends the import.
        public var didCommit: (@Sendable (Int64?) throws -> Void)?

        /// The usual.
        public init() {}
    }

    let file: CoreDataFile
    let plan: CoreDataPlan
    let target: any ReplicableStore
    let options: Options
    let resolver: IdentityResolver
    let carrier: HistoryCarrier
    let makers: [Int: RecordMaker]
    let companionRules: CompanionRules
    var report: CoreDataImportReport
    let attachment: ImportAttachment?
    private let statement: ImportStatement?

    /// Prepares an import.
    ///
    /// - Parameter target: a store that was opened with ``CoreDataTarget/schema(for:outline:)``.
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
        companionRules = CompanionRules(plan, file.model)
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

    /// An earlier version of this program may have read less of the file than is read now.
    private static func require(_ schema: Schema, _ derived: Schema, _ file: CoreDataFile) throws {
        guard let difference = StoredSchema(schema).differences(from: StoredSchema(derived)).first else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the store has another schema than follows from the file (\(difference)): the app has changed its model, or an "
                + "earlier version of this program read less of it; import it into a new store",
            at: .init(path: file.path)
        )
    }

    /// Imports.
    ///
    /// - Parameter progress: is told now and then how many records or transactions are done, of how many; a throw ends the
    ///   import, with what is committed.
    /// - Throws: ``HabitStoreError/Code/olderSource`` when the file is an earlier state of what was imported last;
    ///   ``HabitStoreError/Code/historyExpired`` or ``HabitStoreError/Code/unsupported`` when a history is required
    ///   and the source has none that reaches back far enough; ``HabitStoreError/Code/schemaMismatch`` when the app has
    ///   migrated the source since, so that its keys may mean other records.
    public func run(progress: (Int, Int) throws -> Void = { _, _ in }) throws -> CoreDataImportReport {
        let position = try CoreDataTarget.position(in: target, of: file)
        guard let position else {
            guard try FillingAnEmptyStore.isPossible(in: target) else { throw foreign() }
            try keepLeftovers()
            try importFirst(progress)
            return finish()
        }
        try requireSameModel(position)
        try file.requireNoOlder(than: position.age, options)
        // Somebody who follows asks often, and nothing is new then.
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

    /// Keeps what belongs to nothing in the model, before anything else is brought over, and says what is not kept.
    private func keepLeftovers() throws {
        let leftovers = Leftovers(file, plan)
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
                "the file keeps no persistent history, so that nothing tells what was changed or deleted since; it can be "
                    + "imported again, and not followed",
                at: .init(path: file.path)
            )
        }
        guard let last = position.transaction else {
            return HabitStoreError(
                .unsupported,
                "the file kept no persistent history when it was imported; import it again once, then it can be followed",
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

    /// Keeps what a record leaves behind, and counts.
    func account(_ made: RecordMaker.Made, of entity: CoreDataEntity) throws {
        report.count(made.losses)
        report.count(odd: made.odd)
        report.normalizedTexts += made.normalizedTexts
        report.replacedTexts += made.replacedTexts
        if made.record == nil { report.note(entity.name) { $0.refused += 1 } }
        try attachment?.add(made.losses)
    }

    /// Writes where the target is, within a transaction.
    func write(_ position: SourcePosition, to transaction: any ReplicaTransaction) throws {
        guard let entity = plan.source else { return }
        let record = try position.record(plan.schema.entities[entity].layout)
        try transaction.put(entity: entity, id: position.id, record)
    }
}

extension CoreDataHistory {
    /// Whether everything behind a transaction is in the history.
    func reaches(_ transaction: Int64) -> Bool {
        transaction <= last && (first <= transaction + 1 || transaction == last)
    }
}
