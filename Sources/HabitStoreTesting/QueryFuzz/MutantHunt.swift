import Foundation
import HabitStore

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
