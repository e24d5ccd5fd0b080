import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
        texts = (0..<3).map { _ in EdgeValues.text(&generator) }
        optionals = (0..<2).map { _ in generator.chance(40) ? nil : EdgeValues.text(&generator) }
        let numbers = [EdgeValues.int(&generator), EdgeValues.int(&generator)].sorted()
        (number, upper) = (numbers[0], numbers[1])
        double = EdgeValues.double(&generator)
        let dates = [EdgeValues.date(&generator), EdgeValues.date(&generator)].sorted()
        (date, end) = (dates[0], dates[1])
        let known = population.habits + population.entries + population.tags
        ids = (0..<4).map { _ in generator.pickAny(known) ?? EdgeValues.id(&generator) } + [EdgeValues.id(&generator)]
        flag = generator.chance(50)
    }

    var description: String {
        "texts \(texts.map { $0.debugDescription }), optionals \(optionals), numbers \(number) and \(upper), double \(double), "
            + "dates \(date.timeIntervalSinceReferenceDate) and \(end.timeIntervalSinceReferenceDate), "
            + "ids \(ids), flag \(flag)"
    }
}

extension DifferentialModel {
    /// A random fetch: half of them by a predicate from the list, the others by a condition over the whole language.
    ///
    /// - Parameter profile: what the generator of conditions knows about the records.
    /// - Returns: the fetch, and a description of what its text form omits.
    static func randomDescriptor(
        _ generator: inout SeededGenerator,
        _ population: Population,
        entity: Int,
        _ profile: () throws -> FuzzProfile
    ) rethrows -> (FetchDescriptor<Self>, String) {
        var descriptor = FetchDescriptor<Self>()
        var source = ""
        if generator.chance(50) {
            let template = generator.pick(predicates)
            let constants = PredicateConstants(&generator, population)
            descriptor.predicate = template.make(constants)
            source = "#Predicate { \(template.source) } with \(constants)"
        } else {
            var random = FuzzGenerator(try profile(), seed: generator.next())
            descriptor.filter = Filter(random.filter(entity: entity))
        }
        for _ in 0..<generator.int(0...2) {
            let key = generator.pick(sortKeys)
            let isForward = generator.chance(50)
            descriptor.sortBy.append(key.make(isForward ? .forward : .reverse))
            source += ", sorted by \(key.name) \(isForward ? "ascending" : "descending")"
        }
        descriptor.fetchLimit = generator.chance(30) ? generator.int(-1...12) : nil
        descriptor.fetchOffset = generator.chance(20) ? generator.int(-2...15) : 0
        return (descriptor, source)
    }
}

extension Habit: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Habit>] = [
        .init("name") { SortDescriptor(\.name, order: $0) },
        .init("createdAt") { SortDescriptor(\.createdAt, order: $0) },
        .init("streak") { SortDescriptor(\.streak, order: $0) },
        .init("category") { SortDescriptor(\.category, order: $0) },
        .init("timesPerPeriod") { SortDescriptor(\.timesPerPeriod, order: $0) },
        .init("unit") { SortDescriptor(\.unit, order: $0) },
        .init("target") { SortDescriptor(\.target, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Habit>] = [
        .init("$0.name == text") { c in
            let text = c.text
            return #Predicate { $0.name == text }
        },
        .init("$0.name != text") { c in
            let text = c.text
            return #Predicate { $0.name != text }
        },
        .init("$0.name < text") { c in
            let text = c.text
            return #Predicate { $0.name < text }
        },
        .init("$0.name >= text") { c in
            let text = c.text
            return #Predicate { $0.name >= text }
        },
        .init("$0.name.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.name.contains(text) }
        },
        .init("$0.name.starts(with: text)") { c in
            let text = c.text
            return #Predicate { $0.name.starts(with: text) }
        },
        .init("$0.name.count == number") { c in
            let number = c.number
            return #Predicate { $0.name.count == number }
        },
        .init("$0.name.isEmpty || $0.unit == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.name.isEmpty || $0.unit == optional }
        },
        .init("texts.contains($0.name)") { c in
            let texts = c.texts
            return #Predicate { texts.contains($0.name) }
        },
        .init("optionals.contains($0.category)") { c in
            let optionals = c.optionals
            return #Predicate { optionals.contains($0.category) }
        },
        .init("$0.category == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.category == optional }
        },
        .init("$0.category != optional && $0.isArchived == flag") { c in
            let (optional, flag) = (c.optionals[0], c.flag)
            return #Predicate { $0.category != optional && $0.isArchived == flag }
        },
        .init("($0.category ?? text) == $0.name") { c in
            let text = c.text
            return #Predicate { ($0.category ?? text) == $0.name }
        },
        .init("$0.category?.contains(text) == true") { c in
            let text = c.text
            return #Predicate { $0.category?.contains(text) == true }
        },
        .init("$0.category?.contains(text) != true") { c in
            let text = c.text
            return #Predicate { $0.category?.contains(text) != true }
        },
        .init("$0.category?.starts(with: text) ?? flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.category?.starts(with: text) ?? flag }
        },
        .init("($0.category?.count ?? number) <= upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { ($0.category?.count ?? number) <= upper }
        },
        .init("($0.unit ?? text) < text") { c in
            let text = c.text
            return #Predicate { ($0.unit ?? text) < text }
        },
        .init("$0.streak >= number && $0.streak < upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak >= number && $0.streak < upper }
        },
        .init("(number...upper).contains($0.streak)") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { (number...upper).contains($0.streak) }
        },
        .init("(number..<upper).contains($0.timesPerPeriod)") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { (number..<upper).contains($0.timesPerPeriod) }
        },
        .init("!($0.streak <= number) || $0.isArchived") { c in
            let number = c.number
            return #Predicate { !($0.streak <= number) || $0.isArchived }
        },
        .init("($0.target ?? double) > double") { c in
            let double = c.double
            return #Predicate { ($0.target ?? double) > double }
        },
        .init("$0.target == nil ? flag : $0.streak > number") { c in
            let (flag, number) = (c.flag, c.number)
            return #Predicate { $0.target == nil ? flag : $0.streak > number }
        },
        .init("$0.streak + number > upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak + number > upper }
        },
        .init("$0.streak * number - upper < number") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak * number - upper < number }
        },
        .init("$0.streak % number == 1") { c in
            let number = c.number
            return #Predicate { $0.streak % number == 1 }
        },
        .init("$0.streak / number == upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak / number == upper }
        },
        .init("-$0.streak < number") { c in
            let number = c.number
            return #Predicate { -$0.streak < number }
        },
        .init("$0.isArchived && $0.streak + number > upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.isArchived && $0.streak + number > upper }
        },
        .init("$0.createdAt >= date && $0.createdAt <= end") { c in
            let (date, end) = (c.date, c.end)
            return #Predicate { $0.createdAt >= date && $0.createdAt <= end }
        },
        .init("ids.contains($0.id)") { c in
            let ids = c.ids
            return #Predicate { ids.contains($0.id) }
        },
        .init("$0.entries.isEmpty") { _ in #Predicate { $0.entries.isEmpty } },
        .init("$0.entries.contains { $0.note == optional }") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.entries.contains { $0.note == optional } }
        },
        .init("$0.entries.allSatisfy { ($0.value ?? double) <= double }") { c in
            let double = c.double
            return #Predicate { $0.entries.allSatisfy { ($0.value ?? double) <= double } }
        },
        .init("$0.entries.count > number") { c in
            let number = c.number
            return #Predicate { $0.entries.count > number }
        },
        .init("$0.entries.filter { $0.date < date }.count == number") { c in
            let (date, number) = (c.date, c.number)
            return #Predicate { $0.entries.filter { $0.date < date }.count == number }
        },
        .init("$0.tags.contains { $0.name == text }") { c in
            let text = c.text
            return #Predicate { $0.tags.contains { $0.name == text } }
        },
        .init("$0.tags.isEmpty == flag") { c in
            let flag = c.flag
            return #Predicate { $0.tags.isEmpty == flag }
        },
        .init("$0.tags.filter { texts.contains($0.name) }.isEmpty") { c in
            let texts = c.texts
            return #Predicate { $0.tags.filter { texts.contains($0.name) }.isEmpty }
        },
        .init("habit in habit.entries.contains { $0.note == habit.category }") { _ in
            #Predicate { habit in habit.entries.contains { $0.note == habit.category } }
        },
        .init("$0.tags.contains { $0.habits.count > number }") { c in
            let number = c.number
            return #Predicate { $0.tags.contains { $0.habits.count > number } }
        },
        .init("habit in if let unit = habit.unit { unit == text } else { habit.isArchived }") { c in
            let text = c.text
            return #Predicate { habit in if let unit = habit.unit { unit == text } else { habit.isArchived } }
        },
        .init("$0.tagIDs.contains(id)") { c in
            let id = c.ids[0]
            return #Predicate { $0.tagIDs.contains(id) }
        },
    ]
}

extension Entry: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Entry>] = [
        .init("date") { SortDescriptor(\.date, order: $0) },
        .init("note") { SortDescriptor(\.note, order: $0) },
        .init("value") { SortDescriptor(\.value, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Entry>] = [
        .init("$0.habit == nil") { _ in #Predicate { $0.habit == nil } },
        .init("$0.habit != nil && $0.note == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.habit != nil && $0.note == optional }
        },
        .init("$0.habit?.name == text") { c in
            let text = c.text
            return #Predicate { $0.habit?.name == text }
        },
        .init("$0.habit?.category == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.habit?.category == optional }
        },
        .init("($0.habit?.streak ?? number) < upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { ($0.habit?.streak ?? number) < upper }
        },
        .init("$0.habit?.isArchived == flag") { c in
            let flag = c.flag
            return #Predicate { $0.habit?.isArchived == flag }
        },
        .init("$0.habit?.category?.contains(text) == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.habit?.category?.contains(text) == flag }
        },
        .init("$0.habit?.tags.contains { $0.name == text } == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.habit?.tags.contains { $0.name == text } == flag }
        },
        .init("($0.habit?.entries.count ?? number) > number") { c in
            let number = c.number
            return #Predicate { ($0.habit?.entries.count ?? number) > number }
        },
        .init("$0.habitID == id") { c in
            let id = c.ids[0]
            return #Predicate { $0.habitID == id }
        },
        .init("ids.contains($0.id) || $0.value == nil") { c in
            let ids = c.ids
            return #Predicate { ids.contains($0.id) || $0.value == nil }
        },
        .init("(date...end).contains($0.date)") { c in
            let (date, end) = (c.date, c.end)
            return #Predicate { (date...end).contains($0.date) }
        },
        .init("$0.date < date || $0.note != optional") { c in
            let (date, optional) = (c.date, c.optionals[0])
            return #Predicate { $0.date < date || $0.note != optional }
        },
        .init("($0.value ?? double) * 2 > double") { c in
            let double = c.double
            return #Predicate { ($0.value ?? double) * 2 > double }
        },
        .init("$0.value == double") { c in
            let double = c.double
            return #Predicate { $0.value == double }
        },
        .init("($0.note ?? text).isEmpty") { c in
            let text = c.text
            return #Predicate { ($0.note ?? text).isEmpty }
        },
        .init("entry in entry.habit.flatMap { habit in habit.name == (entry.note ?? text) } == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { entry in entry.habit.flatMap { habit in habit.name == (entry.note ?? text) } == flag }
        },
        .init("$0.note.flatMap { $0 == text } == nil") { c in
            let text = c.text
            return #Predicate { $0.note.flatMap { $0 == text } == nil }
        },
    ]
}

extension Tag: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Tag>] = [
        .init("name") { SortDescriptor(\.name, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Tag>] = [
        .init("$0.name == text") { c in
            let text = c.text
            return #Predicate { $0.name == text }
        },
        .init("$0.name > text") { c in
            let text = c.text
            return #Predicate { $0.name > text }
        },
        .init("$0.habits.isEmpty") { _ in #Predicate { $0.habits.isEmpty } },
        .init("$0.habits.contains { $0.isArchived == flag }") { c in
            let flag = c.flag
            return #Predicate { $0.habits.contains { $0.isArchived == flag } }
        },
        .init("$0.habits.allSatisfy { $0.streak > number }") { c in
            let number = c.number
            return #Predicate { $0.habits.allSatisfy { $0.streak > number } }
        },
        .init("$0.habits.filter { $0.category == nil }.count >= number") { c in
            let number = c.number
            return #Predicate { $0.habits.filter { $0.category == nil }.count >= number }
        },
        .init("$0.habits.contains { $0.entries.contains { $0.value == nil } }") { _ in
            #Predicate { $0.habits.contains { $0.entries.contains { $0.value == nil } } }
        },
        .init("texts.contains($0.name)") { c in
            let texts = c.texts
            return #Predicate { texts.contains($0.name) }
        },
    ]
}

extension Draft: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Draft>] = [
        .init("content") { SortDescriptor(\.content, order: $0) },
        .init("creationDate") { SortDescriptor(\.creationDate, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Draft>] = [
        .init("$0.attachments.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.attachments.contains(text) }
        },
        .init("$0.attachments.isEmpty") { _ in #Predicate { $0.attachments.isEmpty } },
        .init("$0.attachments.count > number") { c in
            let number = c.number
            return #Predicate { $0.attachments.count > number }
        },
        .init("$0.attachments == texts") { c in
            let texts = c.texts
            return #Predicate { $0.attachments == texts }
        },
        .init("$0.content.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.content.contains(text) }
        },
        .init("$0.content.count > number") { c in
            let number = c.number
            return #Predicate { $0.content.count > number }
        },
        .init("$0.creationDate == date") { c in
            let date = c.date
            return #Predicate { $0.creationDate == date }
        },
        .init("$0.content < text || $0.creationDate > date") { c in
            let (text, date) = (c.text, c.date)
            return #Predicate { $0.content < text || $0.creationDate > date }
        },
        .init("draft in draft.attachments.contains { $0 == draft.content }") { _ in
            #Predicate { draft in draft.attachments.contains { $0 == draft.content } }
        },
    ]
}
