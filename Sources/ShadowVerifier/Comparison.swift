import Foundation
@_spi(Engines) import HabitStore
import Hashing

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

/// The time limit of a comparison.
struct TimeLimit {
    /// The time limit has come.
    struct Reached: Error {}

    /// As good as none: thirty years.
    private static let longestSeconds = 1e9

    private let seconds: Double
    private let deadline: ContinuousClock.Instant?

    init(_ options: VerificationOptions) {
        seconds = options.timeLimitSeconds ?? 0
        // A clock has an end, which a limit may exceed.
        deadline = options.timeLimitSeconds.map { limit in
            ContinuousClock.now + .seconds(limit > 0 ? min(limit, Self.longestSeconds) : 0)
        }
    }

    /// - Throws: ``Reached``.
    func check() throws {
        if let deadline, ContinuousClock.now >= deadline { throw Reached() }
    }

    var reason: String { "the time limit of \(seconds) s was reached" }
}

extension Comparison {
    /// Compares, and draws the verdict also where an error or the time limit ends the comparison.
    mutating func runToVerdict(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        let limit = TimeLimit(options)
        do {
            try run { state in
                try limit.check()
                try progress(state)
            }
        } catch is TimeLimit.Reached {
            report.conclude(cutShort: .timedOut, at: level, reason: limit.reason)
        } catch let error as HabitStoreError where options.reportsErrors {
            report.failure = VerificationReport.Failure(error)
            report.conclude(cutShort: .error, at: level, reason: error.description)
        }
        if let recorder = options.recorder { record(with: recorder) }
    }
}

extension Comparison {
    /// Runs every query on both stores, and compares records, order, count and errors.
    ///
    /// - Returns: the number of queries.
    mutating func compareQueries(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        for query in options.queries {
            let recordQuery = try query.recordQuery()
            let left = try run(recordQuery, in: transactions.a)
            let right = try run(recordQuery, in: transactions.b)
            let before = report.differenceCount
            let observed = { MismatchEvidence.answers(RecordedQuery(query), a: left.answer, b: right.answer) }
            for difference in QueryAnswer.differences(
                left.answer,
                right.answer,
                query: query.name,
                entity: query.entity,
                names: (stores.a.name, stores.b.name)
            ) {
                note(difference, observed: observed)
            }
            compareValues(left, right, query)
            if left.answer.errorCode == nil, report.differenceCount == before {
                compareWithExpectation(left.answer, query)
            }
            report.queries.append(
                QueryComparison(
                    name: query.name,
                    matches: report.differenceCount == before,
                    countA: left.answer.errorCode == nil ? left.answer.identifiers.count : nil,
                    countB: right.answer.errorCode == nil ? right.answer.identifiers.count : nil,
                    millisecondsA: left.milliseconds,
                    millisecondsB: right.milliseconds,
                    planA: left.plan,
                    planB: right.plan
                )
            )
            try advance(progress)
        }
        return options.queries.count
    }

    /// A query's answer, how it came about, and how long that took.
    private struct Run {
        var answer = QueryAnswer()
        /// A digest of each record.
        var digests: [RecordDigest] = []
        var plan = ""
        var milliseconds = 0.0
    }

    private func run(_ query: RecordQuery, in transaction: any ReadTransaction) throws -> Run {
        var run = Run()
        let start = ContinuousClock.now
        do {
            let form = CanonicalForm()
            try transaction.enumerateRecords(query) { record in
                run.answer.identifiers.append(record.id)
                form.write(record.values)
                run.digests.append(RecordDigest(form.bytes))
                return true
            }
            run.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
            run.answer.count = try transaction.countRecords(query)
            let plan = try transaction.explain(query).description
            run.plan = options.showsValues ? plan : plan.hidingQuotedText
        } catch let error as HabitStoreError where error.code.isAboutTheQuery {
            run.answer.errorCode = error.code.rawValue
        }
        return run
    }

    /// The same identifiers, one of them with other values.
    private mutating func compareValues(_ left: Run, _ right: Run, _ query: QueryFile.Query) {
        guard left.answer.identifiers == right.answer.identifiers,
            let place = zip(left.digests, right.digests).enumerated().first(where: { $1.0 != $1.1 })?.offset
        else { return }
        note(
            StoreDifference(
                .queryRecords,
                "query \"\(query.name)\" gives the same identifiers in both stores, with other values in the record at "
                    + "position \(place + 1)",
                entity: query.entity,
                id: left.answer.identifiers[place],
                query: query.name
            )
        )
    }

    private mutating func compareWithExpectation(_ answer: QueryAnswer, _ query: QueryFile.Query) {
        guard let expectations = options.expectations else { return }
        guard let expected = expectations.queries[query.name] else {
            note(
                StoreDifference(.unexpected, "query \"\(query.name)\" has no expected result", query: query.name)
            )
            return
        }
        let listed = Array(answer.identifiers.prefix(Expectations.listedIdentifiers))
        guard expected.count != answer.identifiers.count || expected.identifiers != listed else { return }
        note(
            StoreDifference(
                .unexpected,
                "query \"\(query.name)\" gives \(answer.identifiers.count) records in both stores, "
                    + (expected.count == answer.identifiers.count
                        ? "but not those that are expected, or in another order" : "\(expected.count) are expected"),
                entity: query.entity,
                query: query.name
            )
        )
    }
}

extension HabitStoreError.Code {
    /// Whether the error belongs to the query and is part of the answer; others mean that the store cannot be read.
    fileprivate var isAboutTheQuery: Bool {
        [.invalidQuery, .unknownEntity, .unknownAttribute, .evaluationFailed, .unsupported].contains(self)
    }
}

extension Comparison {
    /// Takes down the listed differences, while the transactions in which they were found still stand.
    mutating func record(with recorder: MismatchRecorder) {
        let key = options.showsValues ? nil : SymmetricKey(size: .bits256)
        let inverse = inverseEvidence()
        for difference in report.differences {
            if let evidence = inverse[difference.differenceID] {
                recorder.add(RecordedMismatch(difference: difference, evidence: evidence))
                continue
            }
            recorder.add(RecordedMismatch(difference: difference, evidence: evidence(of: difference, key)))
        }
    }

    private func evidence(of difference: StoreDifference, _ key: SymmetricKey?) -> MismatchEvidence {
        if let observed = evidence[difference.differenceID] { return observed }
        switch difference.kind {
        case .count:
            guard let entity = difference.entity else { break }
            return .counts(a: report.a.counts[entity] ?? 0, b: report.b.counts[entity] ?? 0)
        case .attribute, .missingInA, .missingInB, .queryRecords:
            guard let entity = difference.entity, let id = difference.id else { break }
            return .records(
                a: record(transactions.a, entity, id, key),
                b: record(transactions.b, entity, id, key)
            )
        default: break
        }
        return .statement("what it was seen in is not recorded, and only the stores can be asked again")
    }

    private func record(
        _ transaction: any ReadTransaction,
        _ entity: String,
        _ id: UUID,
        _ key: SymmetricKey?
    ) -> RecordedRecord {
        do {
            let position = try schema.position(ofEntity: entity)
            let cursor = try transaction.contents(entity: position, in: IdentifierRange(first: id, last: id))
            guard try cursor.next() else { return RecordedRecord(attributes: nil) }
            var reader = CanonicalReader(cursor.canonical)
            var attributes: [RecordedAttribute] = []
            for attribute in schema.entities[position].attributes {
                guard let part = try reader.next() else { break }
                let shown = part.value.map(shown) ?? "no \(attribute.kind.rawValue)"
                attributes.append(RecordedAttribute(name: attribute.name, part, shown: shown, key: key))
            }
            return RecordedRecord(attributes: attributes)
        } catch let error as HabitStoreError {
            return RecordedRecord(error)
        } catch {
            return RecordedRecord(HabitStoreError(.inputOutput, "the record cannot be read", underlying: error))
        }
    }
}
