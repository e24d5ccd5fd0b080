import Foundation
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStore

@Suite("Shapes of predicates")
struct PredicateShapeTests {
    private let schema = HabitSchema.current

    private func shape(_ predicate: Predicate<Entry>) throws -> (shape: PredicateShape, values: [Value])? {
        schema.shapes.shape(of: predicate, schema: schema, entity: try schema.position(of: Entry.self))
    }

    private func range(_ habit: UUID?, _ from: Date, _ to: Date) -> Predicate<Entry> {
        #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to }
    }

    @Test func predicatesThatDifferInConstantsShareOneShape() throws {
        let (habit, from, to) = (UUID(), Date(timeIntervalSinceReferenceDate: 1), Date.distantFuture)
        let first = try #require(try shape(range(habit, from, to)))
        let second = try #require(try shape(range(UUID(), to, from)))
        #expect(first.shape === second.shape)
        #expect(first.values == [.uuid(habit), .date(from), .date(to)])
        #expect(first.shape.comparesDirectly)
        let entity = try schema.position(of: Entry.self)
        let lowered = try FilterExpression(range(habit, from, to), schema: schema).bound(to: schema, entity: entity)
        #expect(first.shape.filter(first.values) == lowered)
    }

    @Test func operatorsKeyPathsAndTruthValuesMakeAnotherShape() throws {
        let (one, other) = (UUID(), UUID())
        let shapes = try [
            shape(#Predicate { $0.id < one }), shape(#Predicate { $0.id <= other }),
            shape(#Predicate { $0.id < one && true }), shape(#Predicate { $0.id < one && false }),
        ]
        .map { try #require($0).shape }
        #expect(Set(shapes.map(ObjectIdentifier.init)).count == 4)
        let note: String? = "a"
        let habits = try [
            (#Predicate<Habit> { $0.category == note }), (#Predicate<Habit> { $0.unit == note }),
        ]
        .map { predicate in
            let entity = try schema.position(of: Habit.self)
            return try #require(schema.shapes.shape(of: predicate, schema: schema, entity: entity)).shape
        }
        #expect(habits[0] !== habits[1])
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -0.0])
    func oddNumbersGoTheLongWay(_ number: Double) throws {
        func asked(_ number: Double) throws -> (shape: PredicateShape, values: [Value])? {
            try shape(#Predicate { ($0.value ?? 0) > number })
        }
        _ = try #require(try asked(1))
        #expect(try asked(number) == nil)
        let date = Date(timeIntervalSinceReferenceDate: number)
        let isKept = try shape(range(UUID(), date, Date())) != nil
        #expect(isKept == number.isFinite)
    }

    @Test func nilAndTextsInOtherFormsGoTheLongWay() throws {
        #expect(try shape(range(nil, Date(), Date())) == nil)
        func asked(_ text: String?) throws -> (shape: PredicateShape, values: [Value])? {
            try shape(#Predicate { $0.note == text })
        }
        #expect(try asked("\u{e9}")?.values == [.string("\u{e9}")])
        #expect(try asked("e\u{301}") == nil)
        #expect(try asked(nil) == nil)
    }

    @Test func whatHoldsListsRangesOrClosuresHasNoShape() throws {
        let ids = [UUID()]
        let dates = Date.distantPast..<Date.distantFuture
        #expect(try shape(#Predicate { ids.contains($0.id) }) == nil)
        #expect(try shape(#Predicate { dates.contains($0.date) }) == nil)
        #expect(try shape(#Predicate { $0.note.flatMap { $0 == "a" } == true }) == nil)
        #expect(try shape(#Predicate { $0.note == "a" && $0.id == $0.id }) != nil)
    }
}
