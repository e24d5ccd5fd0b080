import Foundation
import HabitTracker
import Testing

@testable import HabitStore

@Suite("Composition of filters")
struct FilterCompositionTests {
    private let strong = Filter<Habit>(#Predicate { $0.streak >= 7 })
    private let archived = Filter<Habit>(#Predicate { $0.isArchived })
    /// A condition that cannot be lowered.
    private let lettered = Filter<Habit>(#Predicate { $0.name.min() != nil })

    private func store() throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try store.insert([
            Habit(name: "a", streak: 7), Habit(name: "b", streak: 8, isArchived: true), Habit(name: "", streak: 9),
            Habit(name: "c", streak: 1, category: "x"),
        ])
        return store
    }

    private func streaks(_ filter: Filter<Habit>) throws -> [Int] {
        try store().fetch(FetchDescriptor(filter: filter, sortBy: [SortDescriptor(\.streak)])).map(\.streak)
    }

    @Test func piecesAreComposedToOneCondition() throws {
        #expect(try streaks(.all([strong, !archived])) == [7, 9])
        #expect(try streaks(.any([archived, try Filter(text: "category == \"x\"")])) == [1, 8])
        #expect(try streaks(strong && lettered) == [7, 8])
        #expect(try streaks(!lettered || archived) == [8, 9])
        #expect(try streaks(.all([])).count == 4)
        #expect(try streaks(.any([])).isEmpty)
        #expect(try streaks(.never).isEmpty)
    }

    @Test func whatCanBeLoweredHasATextForm() throws {
        let filter: Filter<Habit> = .all([strong, .any([!archived, try Filter(text: "category == nil")])])
        let expression = try filter.expression(in: HabitSchema.current)
        #expect(expression.description == "streak >= 7 AND (NOT isArchived OR category == nil)")
        #expect(try FilterExpression(text: expression.description) == expression)
        let error = #expect(throws: HabitStoreError.self) {
            try (strong && lettered).expression(in: HabitSchema.current)
        }
        #expect(error?.code == .unsupported)
    }

    /// A hundred conditions, more than a `#Predicate` can contain.
    @Test func thereIsNoLimitToTheNumberOfPieces() throws {
        let many = (0..<100).map { number in Filter<Habit>(#Predicate { $0.streak != number + 100 }) }
        #expect(try streaks(.all(many)).count == 4)
    }

    @Test func whatIsLoweredNarrowsTheSearchForWhatIsNot() throws {
        let lowered = LoweredFilter(.all([lettered, strong]), schema: HabitSchema.current, evaluatesPredicates: false)
        #expect(!lowered.isWhole)
        #expect(lowered.expression.description == "streak >= 7")
    }

    /// `forced` would fail for the habit without a category, which the second term excludes; Swift evaluates it first.
    @Test func nothingIsNarrowedByWhatStandsBehindAPieceThatMayFail() throws {
        // swift-format-ignore: NeverForceUnwrap
        let forced = Filter<Habit>(#Predicate { $0.category! == "x" })
        #expect(throws: HabitStoreError.self) { try streaks(forced && Filter(#Predicate { $0.streak == 1 })) }
        #expect(try streaks(Filter(#Predicate { $0.streak == 1 }) && forced) == [1])
    }

    /// An expression that overflows, next to a predicate in one alternative, was taken for one that cannot fail, and the term after it excluded the
    /// records: no error, and no record. Random queries found it at the 337,016th.
    @Test func nothingIsNarrowedByWhatStandsBehindAnExpressionThatMayFail() throws {
        let overflowing: Filter<Habit> = .any([try Filter(text: "streak * 9223372036854775807 == 0"), lettered])
        #expect(throws: HabitStoreError.self) { try streaks(overflowing && Filter(text: "category == \"y\"")) }
        #expect(try streaks(Filter(text: "category == \"y\"") && overflowing).isEmpty)
    }
}
