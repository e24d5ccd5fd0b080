import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

/// Runs random operations and queries against a store and the store in memory in lockstep, and compares every result and every error.
public struct DifferentialTest: Sendable {
    /// The counts of a run.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed of the run.
        public var seed: UInt64
        /// Single operations inside transactions.
        public var operations = 0
        /// Transactions, including refused ones.
        public var transactions = 0
        /// Transactions that both stores refused.
        public var refused = 0
        /// All queries.
        public var queries = 0
        /// Queries whose answer is neither empty nor an error.
        public var answered = 0
        /// Queries to which both stores answered with an error.
        public var failed = 0
        /// Comparisons of all records.
        public var comparisons = 0

        /// The counts in one line.
        public var description: String {
            "seed \(seed): \(operations) operations in \(transactions) transactions, \(refused) of them refused; "
                + "\(queries) queries, \(answered) of them with results and \(failed) with an error; "
                + "\(comparisons) comparisons of everything"
        }
    }

    /// The seed that determines the whole run.
    public let seed: UInt64
    /// The minimum number of operations.
    public let operations: Int
    /// The number of queries.
    public let queries: Int

    /// Configures a test.
    public init(seed: UInt64, operations: Int = 2_000, queries: Int = 500) {
        self.seed = seed
        self.operations = operations
        self.queries = queries
    }

    /// Runs the test in a temporary directory that is removed afterwards.
    ///
    /// - Throws: ``Disagreement`` with the seed, the question and both answers.
    public func run(against subject: StoreUnderTest) throws -> Report {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("differential-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let clock = StepClock()
        let identity = UUID()
        let store = try subject.open(directory, HabitSchema.current, identity) { clock.now }
        let reference = try InMemoryHabitStore(schema: HabitSchema.current, identity: identity) { clock.now }
        let run = DifferentialRun(seed: seed, reference: reference, subject: store, clock: clock)
        let result = Result {
            try run.work(operations: operations, queries: queries)
            return run.report
        }
        store.close()
        try FileManager.default.removeItem(at: directory)
        return try result.get()
    }
}

/// A clock that stands still between steps, so that two stores stamp the same times.
final class StepClock: Sendable {
    private let seconds = Mutex(700_000_000.0)

    var now: Date { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }

    func step() { seconds.withLock { $0 += 0.125 } }
}

/// A running differential test.
final class DifferentialRun {
    private(set) var report: DifferentialTest.Report
    private var generator: SeededGenerator
    private var population = Population()
    private let reference: InMemoryHabitStore
    private let subject: any EngineBackedStore
    private let clock: StepClock
    private var comparedToken = HistoryToken.zero
    private var knownProfile: FuzzProfile?

    /// The number of operations between two comparisons of everything.
    private static let comparisonDistance = 400
    /// The number of transactions between two checks of the store under test.
    private static let checkDistance = 10
    /// The number of queries between two profiles of the values that occur.
    private static let profileDistance = 20
    /// The length at which a reported answer is cut.
    private static let answerLength = 3_000

    init(seed: UInt64, reference: InMemoryHabitStore, subject: any EngineBackedStore, clock: StepClock) {
        report = .init(seed: seed)
        generator = SeededGenerator(seed: seed)
        self.reference = reference
        self.subject = subject
        self.clock = clock
    }

    func work(operations: Int, queries: Int) throws {
        var nextComparison = Self.comparisonDistance
        while report.operations < operations || report.queries < queries {
            if report.operations < operations { try transact() }
            // Queries keep pace with the operations, once records exist.
            let due = operations == 0 ? queries : queries * report.operations / max(1, operations)
            while report.queries < min(due, queries) { try query() }
            if report.operations >= nextComparison {
                try compareEverything()
                nextComparison += Self.comparisonDistance
            }
        }
        try compareEverything()
    }

    private var step: Int { report.operations + report.queries }

    private func agree<T: Equatable>(
        _ question: @autoclosure () -> String,
        _ expected: Answer<T>,
        _ found: Answer<T>
    ) throws {
        guard expected != found else { return }
        throw Disagreement(
            seed: report.seed,
            step: step,
            question: question(),
            reference: String(expected.description.prefix(Self.answerLength)),
            subject: String(found.description.prefix(Self.answerLength))
        )
    }

    // MARK: Operations

    private func transact() throws {
        clock.step()
        let operations = population.transaction(&generator)
        let author = generator.chance(30) ? EdgeValues.text(&generator) : nil
        let expected = Answer { try operations.perform(in: reference, author: author) }
        let found = Answer { try operations.perform(in: subject, author: author) }
        try agree("\(operations)", expected, found)
        report.operations += operations.count
        report.transactions += 1
        if expected.isFailure { report.refused += 1 }
        // Both stores share the code that decides about references and uniqueness; the check does not use it.
        try expectSound(reference, behind: operations)
        if report.transactions.isMultiple(of: Self.checkDistance) { try expectSound(subject, behind: operations) }
        population = try reference.read { try Population($0) }
        if generator.chance(1), comparedToken.rawValue > 20 {
            let token = HistoryToken(rawValue: comparedToken.rawValue - 10)
            try reference.pruneHistory(through: token)
            try subject.pruneHistory(through: token)
        }
    }

    /// Odd dates are allowed, and the check reports them; it must find nothing else.
    private func expectSound(_ store: some MaintainableStore, behind operations: RandomTransaction) throws {
        let findings = try store.check { _ in }.filter { $0.kind != "oddDate" }
        guard !findings.isEmpty else { return }
        throw Disagreement(
            seed: report.seed,
            step: step,
            question: "a check's findings after \(operations)",
            reference: "nothing",
            subject: String("\(findings)".prefix(Self.answerLength))
        )
    }

    private func compareEverything() throws {
        report.comparisons += 1
        try compareAll(Habit.self)
        try compareAll(Entry.self)
        try compareAll(Tag.self)
        try compareAll(Draft.self)
        let token = comparedToken
        try agree(
            "the history after \(token)",
            Answer { try reference.fetchHistory(after: token) },
            Answer { try subject.fetchHistory(after: token) }
        )
        try agree(
            "the history from the beginning",
            Answer { try reference.fetchHistory(after: .zero).count },
            Answer { try subject.fetchHistory(after: .zero).count }
        )
        try agree("the information", Answer { try reference.information() }, Answer { try subject.information() })
        try agree(
            "the findings of a check",
            Answer { Set(try reference.check { _ in }) },
            Answer { Set(try subject.check { _ in }) }
        )
        comparedToken = try reference.currentToken()
    }

    private func compareAll<M: PersistentModel>(_ type: M.Type) throws {
        try agree("all \(type)", Answer { try reference.all(type) }, Answer { try subject.all(type) })
    }

    // MARK: Queries

    private func query() throws {
        report.queries += 1
        switch generator.int(0...3) {
        case 0: try query(Habit.self)
        case 1: try query(Entry.self)
        case 2: try query(Tag.self)
        default: try query(Draft.self)
        }
    }

    /// The records' profile for the generator of filters, refreshed now and then.
    private func profile() throws -> FuzzProfile {
        if let profile = knownProfile, report.queries % Self.profileDistance != 0 { return profile }
        let profile = FuzzProfile(try FuzzData(name: "reference", of: reference))
        knownProfile = profile
        return profile
    }

    private func query<M: DifferentialModel>(_ type: M.Type) throws {
        let (descriptor, source) = try M.randomDescriptor(
            &generator,
            population,
            entity: try reference.schema.position(of: type),
            profile
        )
        try compare(descriptor, source)
    }

    private func compare<M: DifferentialModel>(_ descriptor: FetchDescriptor<M>, _ source: String) throws {
        let question = {
            let explanation = Answer { "\(try self.subject.explain(descriptor).filter)" }
            return
                "\(M.self): \(explanation) \(source), limit \(descriptor.fetchLimit.map(String.init) ?? "none"), offset \(descriptor.fetchOffset)"
        }
        let expected = Answer { try reference.fetch(descriptor) }
        try agree("fetch \(question())", expected, Answer { try subject.fetch(descriptor) })
        if expected.isFailure {
            report.failed += 1
        } else if expected != .value([]) {
            report.answered += 1
        }
        switch (expected, generator.int(0...2)) {
        case (.value(let models), 0):
            try agree("count \(question())", .value(models.count), Answer { try subject.fetchCount(descriptor) })
        case (.value(let models), 1):
            let found = Answer { try subject.fetchIdentifiers(descriptor) }
            try agree("identifiers \(question())", .value(models.map(\.id)), found)
        case (.value(let models), _):
            try comparePages(descriptor, models, question)
        case (.failure(let code, let entity, let attribute, let id), _):
            let count = Answer { try subject.fetchCount(descriptor) }
            try agree(
                "count \(question())",
                .failure(code: code, entity: entity, attribute: attribute, id: id),
                count
            )
        }
    }

    private func comparePages<M: DifferentialModel>(
        _ descriptor: FetchDescriptor<M>,
        _ models: [M],
        _ question: () -> String
    ) throws {
        guard descriptor.fetchOffset <= 0, models.count > 1 else { return }
        let size = generator.int(1...models.count)
        let found = Answer {
            var page = try subject.fetchPage(descriptor, size: size)
            var first = page.models
            if let cursor = page.next {
                var descriptor = descriptor
                descriptor.cursor = cursor
                page = try subject.fetchPage(descriptor, size: size)
                first += page.models
            }
            return first
        }
        try agree("two pages of \(size) of \(question())", .value(Array(models.prefix(2 * size))), found)
    }
}

/// Two stores gave different answers to the same question.
public struct Disagreement: Error, Sendable, CustomStringConvertible {
    /// The seed that reproduces it.
    public let seed: UInt64
    /// The number of operations and queries before it.
    public let step: Int
    /// The operation, or the query in its text form.
    public let question: String
    /// The answer of the reference, the store in memory.
    public let reference: String
    /// The answer of the store under test.
    public let subject: String

    /// The seed, the step, the question and both answers.
    public var description: String {
        """
        the stores disagree at step \(step) of seed \(seed)
          question:  \(question)
          reference: \(reference)
          subject:   \(subject)
        """
    }
}

/// A store's answer: a value or an error.
enum Answer<T: Equatable>: Equatable, CustomStringConvertible {
    case value(T)
    case failure(code: String, entity: String?, attribute: String?, id: UUID?)

    /// The answer that `body` gives.
    init(_ body: () throws -> T) {
        do {
            self = .value(try body())
        } catch let error as HabitStoreError {
            let place = error.location
            self = .failure(code: error.code.rawValue, entity: place.entity, attribute: place.attribute, id: place.id)
        } catch {
            self = .failure(code: "\(type(of: error))", entity: nil, attribute: nil, id: nil)
        }
    }

    var isFailure: Bool {
        if case .failure = self { return true }
        return false
    }

    var description: String {
        switch self {
        case .value(let value): return "\(value)"
        case .failure(let code, let entity, let attribute, let id):
            return "error \(code) at \(entity ?? "-").\(attribute ?? "-") \(id?.uuidString ?? "-")"
        }
    }
}
