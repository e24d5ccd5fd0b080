import Foundation
import HabitStore
import HabitTracker

/// Has random live queries follow random transactions, and holds what they answer against what a fetch does, and each difference
/// against the two answers that it is between.
public struct LiveQueryTest: Sendable {
    /// What was done.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed.
        public var seed: UInt64
        /// Transactions that were committed.
        public var commits = 0
        /// Live queries that were begun.
        public var queries = 0
        /// Answers that were told.
        public var answers = 0
        /// How many of them were made by patching.
        public var patched = 0
        /// How often a query was asked, or asked again.
        public var asked = 0
        /// Queries that ended with an error, as the fetch did.
        public var failed = 0

        /// One line.
        public var description: String {
            "seed \(seed): \(commits) commits, \(queries) live queries, \(answers) answers, \(patched) patches, asked \(asked) "
                + "times, \(failed) ended with an error"
        }
    }

    /// The seed from which everything follows.
    public let seed: UInt64
    /// How many transactions are made.
    public let commits: Int

    /// Plans a test.
    public init(seed: UInt64, commits: Int) { (self.seed, self.commits) = (seed, commits) }

    /// Runs the test, in a directory of its own that is removed afterwards.
    ///
    /// - Throws: ``Disagreement`` with the seed, the question and both answers.
    public func run(against subject: StoreUnderTest) throws -> Report {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("live-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let clock = StepClock()
        let store = try subject.open(directory, HabitSchema.current, UUID()) { clock.now }
        let result = Result {
            let run = LiveQueryRun(seed: seed, store: store, clock: clock)
            try run.work(commits: commits)
            return run.report
        }
        store.close()
        try FileManager.default.removeItem(at: directory)
        return try result.get()
    }
}
