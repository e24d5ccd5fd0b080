import Foundation
import HabitStore

/// One comparison under way: two transactions at one token, and the report that grows.
struct Comparison {
    let transactions: (a: any ReadTransaction, b: any ReadTransaction)
    let stores: (a: ShadowVerifier.Side, b: ShadowVerifier.Side)
    let schema: Schema
    let options: VerificationOptions
    var report: VerificationReport

    /// Where it is kept how far the comparison has come, if it is.
    var checkpoints: CheckpointFile?
    /// How far it has come, an earlier run included; nil when that is not kept.
    var checkpoint: Checkpoint?
    /// Findings about kept digests from comparing contents.
    var digests = DigestFindings()

    private var recordsAtCheckpoint = 0
    private var done = 0
    private var total = 1
    /// The level that is under way, or was when the comparison ended.
    private(set) var level = ""
    /// The recorder's data about the listed differences, apart from their records, by identifier.
    private(set) var evidence: [String: MismatchEvidence] = [:]
    /// How many identifiers the recording has room for.
    var recordableIdentifiers = MismatchRecording.maximumIdentifiers

    init(
        transactions: (a: any ReadTransaction, b: any ReadTransaction),
        stores: (a: ShadowVerifier.Side, b: ShadowVerifier.Side),
        schema: Schema,
        options: VerificationOptions,
        report: VerificationReport
    ) {
        self.transactions = transactions
        self.stores = stores
        self.schema = schema
        self.options = options
        self.report = report
    }

    mutating func run(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        // Kept digests may state any numbers.
        let records = [report.a, report.b].flatMap(\.counts.values).reduce(0, &+)
        total = max(1, 2 &* records &+ options.queries.count)
        if options.depth == .keptDigests {
            try run("counts", unit: "entities", progress) { try $0.compareCounts() }
            try run("kept digests", unit: "digests", progress) { try $0.compareKeptDigests() }
            report.notCompared += [
                "contents: told by the digests that the stores' transactions keep; no record of an equal digest was read",
                "store checks, relationships, history: only a full verification looks at them",
            ]
        } else {
            try runFully(progress)
        }
        if options.queries.isEmpty {
            report.notCompared.append("queries: no file of queries was given")
        } else {
            try run("queries", unit: "queries", progress) { try $0.compareQueries(progress) }
        }
        report.conclude()
        try checkpoints?.remove()
    }

    private mutating func runFully(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        try run("store checks", unit: "records", progress) { try $0.compareChecks(progress) }
        try run("counts", unit: "entities", progress) { try $0.compareCounts() }
        try run("contents", unit: "records", progress) { try $0.compareContents(progress) }
        try run("kept digests", unit: "digests", progress) { try $0.compareDigests() }
        if options.depth == .paranoid {
            try run("own reading", unit: "records", progress) { try $0.compareOwnReading(progress) }
        }
        try run("relationships", unit: "links", progress) { try $0.compareRelationships() }
        if report.a.information.lineage == report.b.information.lineage {
            try run("history", unit: "transactions", progress) { try $0.compareHistory(progress) }
        }
    }

    private mutating func run(
        _ name: String,
        unit: String,
        _ progress: (ShadowVerifier.Progress) throws -> Void,
        _ body: (inout Comparison) throws -> Int
    ) throws {
        if checkpoint?.finished.contains(name) == true { return }
        level = name
        try tell(progress)
        // Also where an earlier run began this level, all differences so far are those of the levels before it.
        let before = report.levels.map(\.differences).reduce(0, +)
        let start = ContinuousClock.now
        let compared = try body(&self)
        report.levels.append(
            VerificationReport.Level(
                name: name,
                compared: compared,
                unit: unit,
                differences: report.differenceCount - before,
                seconds: (ContinuousClock.now - start) / .seconds(1)
            )
        )
        checkpoint?.finished.append(name)
        try keepCheckpoint(nil)
    }

    /// Whether enough was compared since the last checkpoint.
    func checkpointIsDue(_ compared: Int) -> Bool {
        checkpoints != nil && compared - recordsAtCheckpoint >= options.checkpointRecords
    }

    /// Keeps how far the comparison has come.
    mutating func keepCheckpoint(_ contents: ContentsProgress?) throws {
        guard let checkpoints else { return }
        recordsAtCheckpoint = contents?.compared ?? 0
        checkpoint?.report = report
        checkpoint?.contents = contents
        checkpoint?.digests = digests
        if let checkpoint { try checkpoints.save(checkpoint) }
    }

    func tell(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        try progress(ShadowVerifier.Progress(level: level, done: min(done, total), total: total))
    }

    mutating func advance(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        done += 1
        if done % 2_048 == 0 { try tell(progress) }
    }

    /// Counts and lists a difference.
    ///
    /// - Parameter observed: what it was seen in, where that is not the two records; asked only for a recording.
    mutating func note(_ difference: StoreDifference, observed: () -> MismatchEvidence? = { nil }) {
        guard let identifier = report.note(difference, limit: options.maximumDifferences), options.recorder != nil
        else { return }
        evidence[identifier] = observed()?.recordable(within: &recordableIdentifiers, showsValues: options.showsValues)
    }

    /// A value as the report may show it.
    func shown(_ value: Value) -> String {
        if options.showsValues { return value.description }
        switch value {
        case .null: return "nil"
        case .bool, .uuid, .links: return value.description
        case .int: return "an integer"
        case .double: return "a double"
        case .date: return "a date"
        case .string(let text): return "text of \(text.count) characters"
        case .data(let bytes): return "\(bytes.count) bytes"
        case .strings(let texts): return "\(texts.count) texts"
        }
    }

    // MARK: Counts

    private mutating func compareCounts() throws -> Int {
        for entity in schema.entities {
            let (left, right) = (report.a.counts[entity.name] ?? 0, report.b.counts[entity.name] ?? 0)
            if left != right {
                note(
                    StoreDifference(
                        .count,
                        "\(entity.name): \(left) records in \(stores.a.name), \(right) in \(stores.b.name)",
                        entity: entity.name,
                        a: String(left),
                        b: String(right)
                    )
                )
            } else if let expected = options.expectations?.counts[entity.name], expected != left {
                note(
                    StoreDifference(
                        .unexpected,
                        "\(entity.name): both stores have \(left) records, \(expected) are expected",
                        entity: entity.name
                    )
                )
            }
        }
        let token = report.a.information.token
        if let expected = options.expectations?.token, expected != token.rawValue {
            note(StoreDifference(.unexpected, "both stores are at token \(token), \(expected) is expected"))
        }
        return schema.entities.count
    }
}
