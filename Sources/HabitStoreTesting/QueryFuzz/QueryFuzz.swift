import Foundation
import HabitStore

/// Asks stores random queries over the whole language, and compares what they answer with each other and with
/// Foundation's own evaluation.
///
/// Everything follows from the seed: the same seed and number give the same query.
public struct QueryFuzz: Sendable {
    /// How long a run goes on.
    public enum Extent: Sendable {
        /// That many queries.
        case queries(Int)
        /// That long.
        case seconds(Double)
    }

    /// The seed from which everything follows.
    public let seed: UInt64
    /// The data; they take turns.
    public let data: [FuzzData]
    /// The stores, beside Foundation's own evaluation. The store in memory is one like the others.
    public let subjects: [StoreUnderTest]
    /// The number of the first query.
    public let first: Int
    /// Whether queries that may fail are cut to a window.
    public let cutsFailingQueries: Bool

    /// How many queries are asked in one transaction.
    static let batchSize = 64

    /// Plans a run.
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

    /// Runs.
    ///
    /// - Parameter progress: is told after each batch.
    /// - Throws: ``FuzzDisagreement`` with the smallest case that shows it, as a test.
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

    /// The query of a number.
    func query(_ number: Int, _ profile: FuzzProfile) -> FuzzQuery {
        var mixer = SeededGenerator(seed: seed ^ UInt64(truncatingIfNeeded: number) &* 0xD134_2543_DE82_EF95)
        var generator = FuzzGenerator(profile, seed: mixer.next())
        var query = generator.query()
        if !cutsFailingQueries, query.condition.mayFail { (query.limit, query.offset) = (nil, 0) }
        return query
    }
}
