import Foundation
import HabitStore

/// A predicate with holes for constants.
struct PredicateTemplate<Model: PersistentModel>: Sendable {
    /// The predicate's code, for reports.
    let source: String
    /// Fills the holes.
    let make: @Sendable (PredicateConstants) -> Predicate<Model>

    init(_ source: String, _ make: @escaping @Sendable (PredicateConstants) -> Predicate<Model>) {
        self.source = source
        self.make = make
    }
}

/// A model that the differential test queries.
protocol DifferentialModel: PersistentModel {
    /// The predicates.
    static var predicates: [PredicateTemplate<Self>] { get }
    /// The attributes to sort by.
    static var sortKeys: [DifferentialSortKey<Self>] { get }
}

struct DifferentialSortKey<Model: PersistentModel>: Sendable {
    /// The attribute's name.
    let name: String
    /// The sort descriptor for a direction.
    let make: @Sendable (SortOrder) -> SortDescriptor<Model>

    init(_ name: String, _ make: @escaping @Sendable (SortOrder) -> SortDescriptor<Model>) {
        self.name = name
        self.make = make
    }
}

/// Constants for the holes of a predicate.
struct PredicateConstants: Sendable, CustomStringConvertible {
    /// Texts, not all of them in NFC.
    let texts: [String]
    /// Optional texts.
    let optionals: [String?]
    /// Whole numbers, `number` not above `upper`.
    let number: Int
    let upper: Int
    let double: Double
    /// Instants; `date` is not later than `end`.
    let date: Date
    let end: Date
    /// Identifiers, some of records.
    let ids: [UUID]
    let flag: Bool

    var text: String { texts[0] }

    init(_ generator: inout SeededGenerator, _ population: Population) {
        texts = (0..<3).map { _ in OddValues.text(&generator) }
        optionals = (0..<2).map { _ in generator.chance(40) ? nil : OddValues.text(&generator) }
        let numbers = [OddValues.int(&generator), OddValues.int(&generator)].sorted()
        (number, upper) = (numbers[0], numbers[1])
        double = OddValues.double(&generator)
        let dates = [OddValues.date(&generator), OddValues.date(&generator)].sorted()
        (date, end) = (dates[0], dates[1])
        let known = population.habits + population.entries + population.tags
        ids = (0..<4).map { _ in generator.pickAny(known) ?? OddValues.id(&generator) } + [OddValues.id(&generator)]
        flag = generator.chance(50)
    }

    var description: String {
        "texts \(texts.map { $0.debugDescription }), optionals \(optionals), numbers \(number) and \(upper), double \(double), "
            + "dates \(date.timeIntervalSinceReferenceDate) and \(end.timeIntervalSinceReferenceDate), "
            + "ids \(ids), flag \(flag)"
    }
}
