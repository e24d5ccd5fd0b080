import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
        let author = generator.chance(30) ? OddValues.text(&generator) : nil
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
