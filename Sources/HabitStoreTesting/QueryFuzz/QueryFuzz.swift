import Foundation
import HabitStore

/// Asks stores random queries over the whole language, and compares their answers with Foundation's own evaluation.
///
/// The seed determines everything: the same seed and number give the same query.
public struct QueryFuzz: Sendable {
    /// The length of a run.
    public enum Extent: Sendable {
        /// This many queries.
        case queries(Int)
        /// This many seconds.
        case seconds(Double)
    }

    /// The seed that determines the whole run.
    public let seed: UInt64
    /// The data sets, used in turn.
    public let data: [FuzzData]
    /// The stores to compare with Foundation's evaluation. The store in memory is one of them, like any other.
    public let subjects: [StoreUnderTest]
    /// The number of the first query.
    public let first: Int
    /// Whether queries that may fail keep their limit and offset.
    public let cutsFailingQueries: Bool

    /// How many queries one transaction asks.
    static let batchSize = 64

    /// Configures a run.
    public init(
        seed: UInt64,
        data: [FuzzData],
        subjects: [StoreUnderTest],
        first: Int = 0,
        cutsFailingQueries: Bool = true
    ) {
        self.seed = seed
        self.data = data
        self.subjects = subjects
        self.first = first
        self.cutsFailingQueries = cutsFailingQueries
    }

    /// Runs the queries.
    ///
    /// - Parameter progress: called after each batch.
    /// - Throws: ``FuzzDisagreement`` with the smallest case, as a test.
    public func run(_ extent: Extent, progress: (QueryFuzzReport) throws -> Void = { _ in }) throws -> QueryFuzzReport {
        let (report, failure) = try firstFailure(extent, progress)
        guard let failure else { return report }
        let data = data[failure.number / Self.batchSize % data.count]
        let smallest = try FuzzShrinker(failure, data: data, subject: subjects[failure.subject]).shrunk()
        throw FuzzDisagreement(seed: seed, query: failure.number, data: data.name, smallest)
    }

    /// Runs until a store disagrees.
    func firstFailure(
        _ extent: Extent,
        _ progress: (QueryFuzzReport) throws -> Void
    ) throws -> (report: QueryFuzzReport, failure: FuzzFailure?) {
        let benches = try data.map { try FuzzBench($0, subjects) }
        defer { for bench in benches { bench.close() } }
        let clock = ContinuousClock()
        let start = clock.now
        var report = QueryFuzzReport(seed: seed, data: data.map(\.name))
        var number = first
        while true {
            report.seconds = start.duration(to: clock.now) / .seconds(1)
            var count = Self.batchSize - number % Self.batchSize
            switch extent {
            case .queries(let queries): count = min(count, queries - (number - first))
            case .seconds(let seconds): if report.seconds >= seconds { count = 0 }
            }
            if count <= 0 { return (report, nil) }
            let bench = benches[number / Self.batchSize % benches.count]
            if let failure = try bench.ask(number..<number + count, of: self, &report) { return (report, failure) }
            number += count
            try progress(report)
        }
    }

    /// The query with a number.
    func query(_ number: Int, _ profile: FuzzProfile) -> FuzzQuery {
        var mixer = SeededGenerator(seed: seed ^ UInt64(truncatingIfNeeded: number) &* 0xD134_2543_DE82_EF95)
        var generator = FuzzGenerator(profile, seed: mixer.next())
        var query = generator.query()
        if !cutsFailingQueries, query.condition.mayFail { (query.limit, query.offset) = (nil, 0) }
        return query
    }
}

/// The counts of a fuzz run.
public struct QueryFuzzReport: Sendable, CustomStringConvertible {
    /// How one store answered the explained queries: one in sixteen.
    public struct Methods: Sendable {
        /// The engine found exactly the records.
        public var native = 0
        /// The engine found a superset.
        public var residual = 0
        /// The engine scanned every record.
        public var scan = 0
    }

    /// The seed of the run.
    public var seed: UInt64
    /// The names of the data sets.
    public var data: [String]
    /// Queries, each sent to every store.
    public var queries = 0
    /// Queries with Foundation predicates; the others had filters.
    public var predicates = 0
    /// Queries with results.
    public var answered = 0
    /// Queries that every store refused with the same error.
    public var failed = 0
    /// How each store answered, by its name.
    public var methods: [String: Methods] = [:]
    /// The duration in seconds.
    public var seconds = 0.0

    /// The counts in one line.
    public var description: String {
        let methods = methods.sorted { $0.key < $1.key }.map { name, counts in
            let total = Double(max(1, counts.native + counts.residual + counts.scan)) / 100
            return "\(name) \(Int((Double(counts.native) / total).rounded())) % native, "
                + "\(Int((Double(counts.residual) / total).rounded())) % with a residual, "
                + "\(Int((Double(counts.scan) / total).rounded())) % by a scan"
        }
        return
            "seed \(seed) over \(data.joined(separator: " and ")): \(queries) queries, \(predicates) of them as predicates, "
            + "\(answered) with results, \(failed) with an error, all evaluated by Foundation too; "
            + methods.joined(separator: "; ") + "; \(Int(seconds.rounded())) s"
    }

    /// Adds the counts of a run that took place at the same time.
    public static func + (left: QueryFuzzReport, right: QueryFuzzReport) -> QueryFuzzReport {
        var sum = left
        sum.queries += right.queries
        sum.predicates += right.predicates
        sum.answered += right.answered
        sum.failed += right.failed
        sum.methods.merge(right.methods) {
            Methods(native: $0.native + $1.native, residual: $0.residual + $1.residual, scan: $0.scan + $1.scan)
        }
        sum.seconds = max(left.seconds, right.seconds)
        return sum
    }
}

/// A store's answer that differs from Foundation's, with the smallest case that shows it.
public struct FuzzDisagreement: Error, Sendable, CustomStringConvertible {
    /// The seed of the run.
    public let seed: UInt64
    /// The number of the query.
    public let query: Int
    /// The name of the data.
    public let data: String
    /// The name of the store.
    public let subject: String
    /// The source of a test that reproduces it.
    public let test: String
    /// The number of records of the smallest case.
    public let records: Int
    /// The number of nodes of the smallest case's condition.
    public let nodes: Int

    init(seed: UInt64, query: Int, data: String, _ smallest: FuzzCase) {
        self.seed = seed
        self.query = query
        self.data = data
        subject = smallest.subject
        records = smallest.data.count
        nodes = smallest.query.condition.size
        test = FuzzTestPrinter(smallest).test(
            name: "seed\(seed)Query\(query)",
            origin: "seed \(seed), query \(query), data \(data)"
        )
    }

    /// The query's number and the test.
    public var description: String {
        "\(subject) disagrees with Foundation's evaluation at query \(query) of seed \(seed) over \(data):\n\n\(test)"
    }
}

/// Runs the fuzz against stores with a planted fault, and reports how many queries it took to catch each one.
///
/// A mutant is just a ``StoreUnderTest`` that opens the faulty store.
public struct MutantHunt: Sendable {
    /// The result for a mutant.
    public struct Outcome: Sendable, Equatable {
        /// The name of the mutant.
        public let name: String
        /// The number of queries until it was caught; nil if none caught it.
        public let queries: Int?
        /// How many seconds that took.
        public let seconds: Double
    }

    /// The results for all mutants.
    public struct Table: Sendable, CustomStringConvertible {
        /// The outcomes in the order of the mutants.
        public let outcomes: [Outcome]

        /// Whether every mutant was caught.
        public var isComplete: Bool { outcomes.allSatisfy { $0.queries != nil } }

        /// The table in Markdown.
        public var description: String {
            let rows = outcomes.map { outcome in
                "| \(outcome.name) | \(outcome.queries.map(String.init) ?? "not caught") |"
            }
            return (["| mutant | queries until caught |", "|---|---|"] + rows).joined(separator: "\n")
        }
    }

    /// The seed of the queries.
    public let seed: UInt64
    /// The data sets.
    public let data: [FuzzData]
    /// The mutants.
    public let mutants: [StoreUnderTest]
    /// The maximum number of queries for each mutant.
    public let limit: Int

    /// Configures a hunt.
    public init(seed: UInt64, data: [FuzzData], mutants: [StoreUnderTest], limit: Int = 20_000) {
        self.seed = seed
        self.data = data
        self.mutants = mutants
        self.limit = limit
    }

    /// Runs the hunt.
    ///
    /// - Parameter progress: called after each mutant.
    public func run(progress: (Outcome) throws -> Void = { _ in }) throws -> Table {
        let clock = ContinuousClock()
        var outcomes: [Outcome] = []
        for mutant in mutants {
            let start = clock.now
            let fuzz = QueryFuzz(seed: seed, data: data, subjects: [mutant])
            let failure = try fuzz.firstFailure(.queries(limit)) { _ in }.failure
            let outcome = Outcome(
                name: mutant.name,
                queries: failure.map { $0.number + 1 },
                seconds: start.duration(to: clock.now) / .seconds(1)
            )
            outcomes.append(outcome)
            try progress(outcome)
        }
        return Table(outcomes: outcomes)
    }
}

/// Random conditions over the whole language, as in a fuzz run, for other tests.
public struct RandomFilters: Sendable {
    private var generator: FuzzGenerator

    /// Makes conditions about some data; the seed determines all of them.
    public init(about data: FuzzData, seed: UInt64) {
        generator = FuzzGenerator(FuzzProfile(data), seed: seed)
    }

    /// The next condition on the records of an entity.
    public mutating func next(entity: Int) -> FilterExpression { generator.filter(entity: entity) }
}
