import Foundation
@_spi(Engines) import HabitStore

/// Compares two stores: counts, relationships, contents, and the results of queries.
///
/// Each is read from one snapshot, both at the same token of their common history; stores without a common history are compared in their current
/// state. An oddity that both share is an anomaly, not a difference.
public struct ShadowVerifier {
    /// A store and the name under which the report speaks of it.
    public struct Side {
        let name: String
        let store: any MaintainableStore

        /// Names a store.
        public init(name: String, store: any MaintainableStore) {
            self.name = name
            self.store = store
        }
    }

    private let a: Side
    private let b: Side
    private let options: VerificationOptions

    /// Prepares a comparison.
    public init(_ a: Side, _ b: Side, options: VerificationOptions = VerificationOptions()) {
        self.a = a
        self.b = b
        self.options = options
    }

    /// How far a comparison has come.
    public struct Progress: Sendable {
        /// The level being compared.
        public var level: String
        /// Records or queries compared so far, in all levels.
        public var done: Int
        /// How many there will be; a close estimate.
        public var total: Int

        package init(level: String, done: Int, total: Int) {
            (self.level, self.done, self.total) = (level, done, total)
        }
    }

    /// Compares the stores.
    ///
    /// - Parameter progress: gets the progress now and then; an error that it throws ends the comparison.
    /// - Throws: errors of reading the stores, unless ``VerificationOptions/reportsErrors``; a difference is not an error.
    public func run(progress: (Progress) throws -> Void = { _ in }) throws -> VerificationReport {
        guard a.store.schema.entities.map(\.name) == b.store.schema.entities.map(\.name) else {
            throw HabitStoreError(.schemaMismatch, "the two stores have different schemas and cannot be compared")
        }
        let schemas = (StoredSchema(a.store.schema), StoredSchema(b.store.schema))
        let differences = schemas.1.differences(from: schemas.0)
        guard differences.isEmpty else { throw HabitStoreError.schemaMismatch(differences, path: b.store.path) }
        // A query that asks for something which no store has would fail alike in both, and pass for equal.
        for query in options.queries { try query.validate(for: a.store.schema) }
        try options.ignoreRules.validate(for: a.store.schema)
        var watch = TokenWatch(limit: options.tokenTries)
        var checkpoints = try options.checkpointPath.flatMap {
            try CheckpointFile(path: $0, stores: [a.store, b.store])
        }
        while true {
            let report = try a.store.read { transactionA in
                try b.store.read { transactionB -> VerificationReport? in
                    // The files read must be the files stamped.
                    if try checkpoints?.isCurrent() == false { checkpoints = nil }
                    let pair = Pair(transactionA, transactionB, checkpoints)
                    return try compare(pair, &watch, progress)
                }
            }
            if let report { return report }
            Thread.sleep(forTimeInterval: .random(in: 0.000_5...0.002))
        }
    }

    /// Both stores' transactions, and where it is kept how far their comparison has come.
    private struct Pair {
        let a: any ReadTransaction
        let b: any ReadTransaction
        let checkpoints: CheckpointFile?

        init(_ a: any ReadTransaction, _ b: any ReadTransaction, _ checkpoints: CheckpointFile?) {
            (self.a, self.b, self.checkpoints) = (a, b, checkpoints)
        }
    }

    /// - Returns: nil when the tokens differ and another try may help.
    private func compare(
        _ pair: Pair,
        _ watch: inout TokenWatch,
        _ progress: (Progress) throws -> Void
    ) throws -> VerificationReport? {
        let sides = (try side(a, pair.a), try side(b, pair.b))
        var report = VerificationReport(verdict: .match, a: sides.0, b: sides.1)
        report.showsValues = options.showsValues
        report.ignoreRules = options.ignoreRules.rules.map { IgnoreRuleUse($0, now: options.now ?? Date()) }
        if StoredSchema(a.store.schema) != StoredSchema(b.store.schema) {
            report.notes.append(
                "the stores' schemas differ in indexes, defaults, former names or what deletions preserve"
            )
        }
        options.recorder?.begin(report, a.store.schema)
        let (left, right) = (sides.0.information, sides.1.information)
        if left.lineage == right.lineage, left.token != right.token {
            guard !watch.goesOn(left.token, right.token) else { return nil }
            report.verdict = .skewed
            report.reason = watch.reason(a.name, b.name)
            return report
        }
        if left.lineage != right.lineage {
            report.notCompared.append(
                "history: the stores do not descend from one another, so tokens mean nothing here"
            )
        } else if max(left.historyFloor, right.historyFloor) > .zero {
            let floor = max(left.historyFloor, right.historyFloor)
            report.notCompared.append(
                left.historyFloor == right.historyFloor
                    ? "history: up to token \(floor) the stores have none"
                    : "history: \(a.name) has none up to token \(left.historyFloor), \(b.name) up to \(right.historyFloor)"
            )
        }
        var comparison = Comparison(
            transactions: (pair.a, pair.b),
            stores: (a, b),
            schema: a.store.schema,
            options: options,
            report: report
        )
        if options.depth == .full, let checkpoints = pair.checkpoints {
            try comparison.takeUp(checkpoints)
        } else if options.depth == .full, options.checkpointPath != nil {
            comparison.report.notes.append("how far it came was not kept: the stores are being written to")
        }
        try comparison.runToVerdict(progress)
        return comparison.report
    }

    private func side(_ side: Side, _ transaction: any ReadTransaction) throws -> VerificationReport.Side {
        var counts: [String: Int] = [:]
        for (position, entity) in side.store.schema.entities.enumerated() {
            if options.depth == .keptDigests, let leaves = try transaction.keptDigests(of: position),
                !leaves.isEmpty
            {
                counts[entity.name] = leaves.reduce(0) { $0 &+ Int($1.digest.count) }
            } else {
                counts[entity.name] = try transaction.countRecords(RecordQuery(entity: entity.name))
            }
        }
        return VerificationReport.Side(name: side.name, information: try transaction.information(), counts: counts)
    }
}

/// The scope of a verification, and what its report shows.
public struct VerificationOptions: Sendable {
    /// How much is read.
    public var depth = VerificationDepth.full
    /// The queries to compare.
    public var queries: [QueryFile.Query] = []
    /// Results that both stores must give.
    public var expectations: Expectations?
    /// Whether the report holds the user's values; otherwise only their kinds and lengths.
    public var showsValues = false
    /// How many differences are listed; all of them are counted.
    public var maximumDifferences = 1_000
    /// How often equal tokens are looked for while writers are at work, one or two milliseconds apart; for stores that
    /// stand still, no longer than half a second.
    public var tokenTries = 1_000
    /// A file that keeps how far a verification has come, so that one that was killed can be taken up; nil for none. It is
    /// gone once the verification has ended.
    public var checkpointPath: String?
    /// Records between two checkpoints.
    var checkpointRecords = 65_536
    /// Differences of these places are listed and do not count.
    public var ignoreRules = IgnoreRules.none
    /// The instant by which ignore rules have expired or not; nil for the time of the comparison.
    public var now: Date?
    /// How long the comparison may take; after that it ends as ``VerificationReport/Verdict/timedOut``. Nil for no limit.
    public var timeLimitSeconds: Double?
    /// Whether an error of a store that can be opened ends the comparison as ``VerificationReport/Verdict/error``, with
    /// what was found before it; otherwise it is thrown.
    public var reportsErrors = false
    /// Takes down what each listed difference was seen in, so that it can be replayed; nil for nothing.
    public var recorder: MismatchRecorder?

    /// The defaults: everything but queries.
    public init() {}
}

/// How much of two stores is read to compare them.
public enum VerificationDepth: String, Sendable, Codable, CaseIterable {
    /// The digests that each store's own transactions keep are believed: equal ones tell equal contents, and where they
    /// differ only the records below them are read. Files, indexes and relationships are not looked at.
    case keptDigests
    /// Every record of both stores is read from its file, and kept digests are checked against what was read.
    case full
    /// As ``full``, and nothing kept is believed: no checkpoint is taken up, and what each store's own transactions read
    /// is compared with what its file holds.
    case paranoid
}

/// Observations of two stores' tokens while waiting for equal ones.
struct TokenWatch {
    /// How long to wait for stores that stand still, in seconds: no process is working that could bring them together.
    private static let stillnessSeconds = 0.5

    private let limit: Int
    private var tries = 0
    private var first: (a: HistoryToken, b: HistoryToken)?
    private var last: (a: HistoryToken, b: HistoryToken)?
    private var stillSince = ContinuousClock.now

    /// - Parameter limit: how often tokens are looked at, at most.
    init(limit: Int) { self.limit = limit }

    /// Notes two tokens that are not equal.
    ///
    /// - Returns: whether another look may help.
    mutating func goesOn(_ a: HistoryToken, _ b: HistoryToken) -> Bool {
        tries += 1
        first = first ?? (a, b)
        if let last, last == (a, b) {
            if ContinuousClock.now - stillSince > .seconds(Self.stillnessSeconds) { return false }
        } else {
            stillSince = .now
        }
        last = (a, b)
        return tries < limit
    }

    /// Why the two cannot be compared.
    func reason(_ nameA: String, _ nameB: String) -> String {
        guard let first, let last else { return "the stores stand at different tokens" }
        let now = "\(nameA) is at token \(last.a) and \(nameB) at token \(last.b) of the same history"
        guard first != last else {
            return now
                + ": bring the one at the lower token up to date with `\(OperatorCommand.name) copy`, or find out by `\(OperatorCommand.name) rollout doctor` why a "
                + "user's store does not follow, then verify again"
        }
        return now
            + "; in \(tries) looks they were never equal, from \(first.a) and \(first.b) on: verify again when there are "
            + "fewer writers"
    }
}
