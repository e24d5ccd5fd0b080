import Foundation
import HabitStore

/// Runs the fuzz against stores into which a fault was planted, and tells how many queries each took to be caught.
///
/// It knows a mutant only as a ``StoreUnderTest`` that opens the faulty store.
public struct MutantHunt: Sendable {
    /// How a mutant fared.
    public struct Outcome: Sendable, Equatable {
        /// The mutant.
        public let name: String
        /// How many queries it took; nil when none caught it.
        public let queries: Int?
        /// How long that took.
        public let seconds: Double
    }

    /// All outcomes.
    public struct Table: Sendable, CustomStringConvertible {
        /// In the order of the mutants.
        public let outcomes: [Outcome]

        /// Whether every mutant was caught.
        public var isComplete: Bool { outcomes.allSatisfy { $0.queries != nil } }

        /// A table in Markdown.
        public var description: String {
            let rows = outcomes.map { outcome in
                "| \(outcome.name) | \(outcome.queries.map(String.init) ?? "not caught") |"
            }
            return (["| mutant | queries until caught |", "|---|---|"] + rows).joined(separator: "\n")
        }
    }

    /// The seed of the queries.
    public let seed: UInt64
    /// The data.
    public let data: [FuzzData]
    /// The mutants.
    public let mutants: [StoreUnderTest]
    /// How many queries are asked of each at most.
    public let limit: Int

    /// Plans a hunt.
    public init(seed: UInt64, data: [FuzzData], mutants: [StoreUnderTest], limit: Int = 20_000) {
        self.seed = seed
        self.data = data
        self.mutants = mutants
        self.limit = limit
    }

    /// Hunts.
    ///
    /// - Parameter progress: is told after each mutant.
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
