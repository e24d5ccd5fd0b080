import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// Runs random live queries over random transactions, and compares their answers with fetches and each difference with the two answers around it.
public struct LiveQueryTest: Sendable {
    /// The counts of a run.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed of the run.
        public var seed: UInt64
        /// Committed transactions.
        public var commits = 0
        /// Started live queries.
        public var queries = 0
        /// Delivered answers.
        public var answers = 0
        /// How many answers were patched rather than fetched.
        public var patched = 0
        /// How often queries were fetched.
        public var asked = 0
        /// Queries that ended with an error, as the fetch did.
        public var failed = 0

        /// The counts in one line.
        public var description: String {
            "seed \(seed): \(commits) commits, \(queries) live queries, \(answers) answers, \(patched) patches, run again \(asked) "
                + "times, \(failed) ended with an error"
        }
    }

    /// The seed that determines the whole run.
    public let seed: UInt64
    /// The number of transactions.
    public let commits: Int

    /// Configures a test.
    public init(seed: UInt64, commits: Int) { (self.seed, self.commits) = (seed, commits) }

    /// Runs the test in a temporary directory that is removed afterwards.
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

/// A running test of live queries.
final class LiveQueryRun {
    private(set) var report: LiveQueryTest.Report
    private var generator: SeededGenerator
    private let store: any EngineBackedStore
    private let clock: StepClock
    private let queries = LiveQueries()
    private var population = Population()
    private var consumers: [any LiveConsumer] = []
    private var profile: FuzzProfile?

    private static let consumers = 10
    /// The least and the greatest number of commits for which a query is followed.
    private static let shortest = 5
    private static let longest = 60
    /// The number of commits between two profiles of the values that occur.
    private static let profileDistance = 50
    private static let neverExpected: Set<HabitStoreError.Code> = [
        .internalInconsistency, .corrupt, .inputOutput, .notAStore, .closed, .transactionEnded, .outcomeUnknown,
    ]

    init(seed: UInt64, store: any EngineBackedStore, clock: StepClock) {
        report = .init(seed: seed)
        generator = SeededGenerator(seed: seed)
        (self.store, self.clock) = (store, clock)
        // The test must see differences; live queries must not correct them.
        queries.compare(oneIn: .max)
    }

    func work(commits: Int) throws {
        while report.commits < commits {
            for _ in 0..<(generator.chance(70) ? 1 : generator.int(2...6)) { try commit() }
            if generator.chance(8) { try bearAgain() }
            while consumers.count < Self.consumers { consumers.append(try consumer()) }
            try queries.step(store)
            try look()
        }
        let statistics = queries.statistics
        (report.patched, report.asked) = (statistics.patched, statistics.asked)
    }

    private func commit() throws {
        clock.step()
        let transaction = population.transaction(&generator)
        do {
            _ = try transaction.perform(in: store, author: nil)
        } catch is StoreContract.Abandoned {
            return
        } catch let error as HabitStoreError where !Self.neverExpected.contains(error.code) {
            // Some of the random transactions are refused.
            return
        }
        report.commits += 1
        population = try store.read { try Population($0) }
        guard generator.chance(1), generator.chance(30) else { return }
        try store.pruneHistory(through: try store.currentToken())
    }

    /// Deletes and saves a record between two looks of a query: only the final state counts.
    private func bearAgain() throws {
        guard let id = generator.pickAny(population.drafts) else { return }
        let isThere = generator.chance(50)
        let draft = Draft(id: id, content: EdgeValues.text(&generator), creationDate: EdgeValues.date(&generator))
        try store.delete(draft)
        try store.save(draft)
        if !isThere { try store.delete(draft) }
        report.commits += isThere ? 2 : 3
        population = try store.read { try Population($0) }
    }

    private func look() throws {
        for (number, consumer) in consumers.enumerated().reversed() {
            // A busy consumer gets fewer answers than there were.
            guard generator.chance(80) else {
                consumer.wasBusy = true
                continue
            }
            switch try consumer.look(report.seed, report.commits) {
            case .nothing: break
            case .answer: report.answers += 1
            case .failure:
                report.failed += 1
                consumers.remove(at: number)
                continue
            }
            consumer.commitsLeft -= 1
            if consumer.commitsLeft <= 0 { consumers.remove(at: number) }
        }
    }

    private func consumer() throws -> any LiveConsumer {
        report.queries += 1
        switch generator.int(0...3) {
        case 0: return try consumer(Habit.self)
        case 1: return try consumer(Entry.self)
        case 2: return try consumer(Tag.self)
        default: return try consumer(Draft.self)
        }
    }

    private func consumer<M: DifferentialModel>(_ type: M.Type) throws -> any LiveConsumer {
        let entity = try store.schema.position(of: type)
        let (descriptor, source) = try M.randomDescriptor(&generator, population, entity: entity) { try knownProfile() }
        let left = generator.int(Self.shortest...Self.longest)
        let store = store
        if generator.chance(25) {
            return try LiveElements(store.identifiers(of: descriptor), queries, left, source: "identifiers, \(source)")
            {
                (try store.fetchIdentifiers(descriptor), try store.explain(descriptor).filter)
            }
        }
        return try LiveElements(store.results(of: descriptor), queries, left, source: source) {
            (try store.fetch(descriptor), try store.explain(descriptor).filter)
        }
    }

    private func knownProfile() throws -> FuzzProfile {
        if let profile, report.queries % Self.profileDistance != 0 { return profile }
        let made = FuzzProfile(try FuzzData(name: "live", of: store))
        profile = made
        return made
    }
}

/// The result of a look at a live query.
private enum LiveLook {
    case nothing, answer, failure
}

/// Follows a random live query.
private protocol LiveConsumer: AnyObject {
    var commitsLeft: Int { get set }
    /// Whether it skipped the previous step.
    var wasBusy: Bool { get set }

    /// Takes the pending answer and compares it with a fetch.
    func look(_ seed: UInt64, _ commits: Int) throws -> LiveLook
}

private final class LiveElements<Element: Sendable & Equatable>: LiveConsumer {
    var commitsLeft: Int
    var wasBusy = false
    private let probe: LiveProbe<Element>
    private let source: String
    private let fetch: () throws -> (elements: [Element], filter: String)
    private var known: [Element] = []
    private var token = HistoryToken.zero

    private static var answerLength: Int { 3_000 }

    init(
        _ results: LiveResults<Element>,
        _ queries: LiveQueries,
        _ commitsLeft: Int,
        source: String,
        _ fetch: @escaping () throws -> (elements: [Element], filter: String)
    ) throws {
        probe = try LiveProbe(results, queries)
        (self.commitsLeft, self.source, self.fetch) = (commitsLeft, source, fetch)
    }

    func look(_ seed: UInt64, _ commits: Int) throws -> LiveLook {
        var change: ResultsChange<Element>?
        let told = Answer {
            change = try probe.takeChange()
            return change.map { Array($0.records) } ?? known
        }
        if let change {
            var applied = known
            change.apply(to: &applied)
            try require(Array(change.records), applied, "the earlier answer with the difference", seed, commits)
            let isInOrder = change.token >= token || change.cause == .requeried
            try require([true], [isInOrder], "whether the token has risen", seed, commits)
            (token, known) = (change.token, applied)
        }
        let expected = Answer { try fetch().elements }
        defer { wasBusy = false }
        // What could not be evaluated at an earlier step may be gone by now; the query has still ended.
        if wasBusy, told.isFailure { return .failure }
        guard told == expected else {
            throw Disagreement(
                seed: seed,
                step: commits,
                question: "live \(Element.self): \((try? fetch().filter) ?? "") \(source)",
                reference: String("\(expected)".prefix(Self.answerLength)),
                subject: String("\(told)".prefix(Self.answerLength))
            )
        }
        return told.isFailure ? .failure : change == nil ? .nothing : .answer
    }

    private func require<T: Equatable>(_ expected: [T], _ found: [T], _ what: String, _ seed: UInt64, _ commits: Int)
        throws
    {
        guard expected != found else { return }
        throw Disagreement(
            seed: seed,
            step: commits,
            question: "\(what) of live \(Element.self) \(source)",
            reference: String("\(expected)".prefix(Self.answerLength)),
            subject: String("\(found)".prefix(Self.answerLength))
        )
    }
}
