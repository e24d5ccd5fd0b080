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
