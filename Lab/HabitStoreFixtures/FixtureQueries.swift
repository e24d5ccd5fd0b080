import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import ShadowVerifier

/// The queries that verify fixtures. Each has its meaning written a second time in plain Swift over arrays, and a store's answers are compared with
/// it,
/// so that two engines that are wrong in the same way do not pass.
struct FixtureQuery: Sendable {
    let query: QueryFile.Query
    /// The identifiers of the result, before limit and offset.
    let expected: @Sendable (FixtureContents) -> [UUID]

    /// The expected result for contents with text in NFC.
    func result(_ contents: FixtureContents) -> [UUID] {
        var identifiers = expected(contents)[...]
        if let offset = query.offset { identifiers = identifiers.dropFirst(offset) }
        if let limit = query.limit { identifiers = identifiers.prefix(limit) }
        return Array(identifiers)
    }
}

extension FixtureQuery {
    static let all: [FixtureQuery] = habits + relationships + entries + others + tracker

    private static func habit(
        _ name: String,
        _ filter: String? = nil,
        sort: [String]? = nil,
        limit: Int? = nil,
        by order: @escaping @Sendable (Habit, Habit) -> Int = { _, _ in 0 },
        where condition: @escaping @Sendable (Habit) -> Bool = { _ in true }
    ) -> FixtureQuery {
        FixtureQuery(
            query: .init(name: name, entity: "Habit", filter: filter, sort: sort, limit: limit),
            expected: { ordered($0.habits.filter(condition), order) }
        )
    }

    private static func entry(
        _ name: String,
        _ filter: String? = nil,
        sort: [String]? = nil,
        limit: Int? = nil,
        offset: Int? = nil,
        by order: @escaping @Sendable (Entry, Entry) -> Int = { _, _ in 0 },
        where condition: @escaping @Sendable (Entry) -> Bool
    ) -> FixtureQuery {
        FixtureQuery(
            query: .init(name: name, entity: "Entry", filter: filter, sort: sort, limit: limit, offset: offset),
            expected: { ordered($0.entries.filter(condition), order) }
        )
    }

    static func ordered<M: PersistentModel>(_ models: [M], _ order: (M, M) -> Int) -> [UUID] {
        models.sorted { left, right in
            let result = order(left, right)
            return result == 0 ? left.id.isBefore(right.id) : result < 0
        }
        .map(\.id)
    }

    static func compare<T: Comparable>(_ left: T, _ right: T) -> Int {
        left == right ? 0 : (left < right ? -1 : 1)
    }

    static func byName(_ left: Habit, _ right: Habit) -> Int {
        left.name.orderByBytes(comparedWith: right.name)
    }

    static func newest(_ left: Entry, _ right: Entry) -> Int { compare(right.date, left.date) }

    // MARK: Habits

    private static let habits: [FixtureQuery] = [
        habit("all habits by name", sort: ["name"], by: byName),
        habit("all habits by identifier"),
        habit(
            "active habits, longest streak first",
            "NOT isArchived",
            sort: ["-streak", "name"],
            limit: 10,
            by: { compare($1.streak, $0.streak) == 0 ? byName($0, $1) : compare($1.streak, $0.streak) },
            where: { !$0.isArchived }
        ),
        habit("streaks of a week", "streak >= 7 AND streak <= 365", where: { (7...365).contains($0.streak) }),
        habit("named Run", "name == \"Run\"", where: { $0.name == "Run" }),
        habit("not named Run", "name != \"Run\"", where: { $0.name != "Run" }),
        habit("named with é", "name CONTAINS \"é\"", where: { $0.name.contains("é") }),
        habit("named with e", "name CONTAINS \"e\"", where: { $0.name.contains("e") }),
        habit(
            "beginning with R",
            "name BEGINSWITH \"R\"",
            sort: ["name"],
            by: byName,
            where: { $0.name.hasPrefix("R") }
        ),
        habit(
            "between M and S",
            "name >= \"M\" AND name < \"S\"",
            where: {
                $0.name.orderByBytes(comparedWith: "M") >= 0 && $0.name.orderByBytes(comparedWith: "S") < 0
            }
        ),
        habit("without category", "category == nil", where: { $0.category == nil }),
        habit(
            "by category, none first",
            sort: ["category", "-createdAt"],
            by: { left, right in
                let categories = (left.category, right.category)
                let order: Int
                switch categories {
                case (nil, nil): order = 0
                case (nil, _): order = -1
                case (_, nil): order = 1
                case (let a?, let b?): order = a.orderByBytes(comparedWith: b)
                }
                return order == 0 ? compare(right.createdAt, left.createdAt) : order
            }
        ),
        habit(
            "sport or music",
            "category IN [\"sport\", \"music\", \"spórt\"]",
            where: {
                ["sport", "music", "spórt"].contains($0.category)
            }
        ),
        habit("target above a tenth", "target > 0.1", where: { ($0.target ?? -.infinity) > 0.1 }),
        habit("target not above a tenth", "NOT (target > 0.1)", where: { !(($0.target ?? -.infinity) > 0.1) }),
        habit(
            "measured or daily",
            "unit != nil OR (timesPerPeriod == 1 AND periodDays == 1)",
            where: {
                $0.unit != nil || ($0.timesPerPeriod == 1 && $0.periodDays == 1)
            }
        ),
    ]

    // MARK: Relationships

    private static let relationships: [FixtureQuery] = [
        withContents("without tags", "COUNT tags == 0", "Habit") { contents in
            let known = Set(contents.tags.map(\.id))
            return contents.habits.filter { $0.tagIDs.isDisjoint(with: known) }.map(\.id)
        },
        withContents("tagged health or tag 7", "ANY tags { name IN [\"health\", \"tag 7\"] }", "Habit") { contents in
            let wanted = Set(contents.tags.filter { ["health", "tag 7"].contains($0.name) }.map(\.id))
            return contents.habits.filter { !$0.tagIDs.isDisjoint(with: wanted) }.map(\.id)
        },
        withContents("tags that nobody uses", "COUNT habits == 0", "Tag") { contents in
            let used = contents.habits.reduce(into: Set<UUID>()) { $0.formUnion($1.tagIDs) }
            return contents.tags.filter { !used.contains($0.id) }.map(\.id)
        },
        withContents("its habit is gone", "habitID != nil AND habit == nil", "Entry") { contents in
            let known = Set(contents.habits.map(\.id))
            return contents.entries.filter { $0.habitID.map { !known.contains($0) } ?? false }.map(\.id)
        },
        withContents("of archived habits with a note", "habit.isArchived == true AND note != nil", "Entry") {
            contents in
            let archived = Set(contents.habits.filter(\.isArchived).map(\.id))
            return contents.entries.filter { entry in
                entry.note != nil && (entry.habitID.map { archived.contains($0) } ?? false)
            }
            .map(\.id)
        },
        withContents("a value above 90", "ANY entries { value > 90 }", "Habit") { contents in
            let found = Set(contents.entries.filter { ($0.value ?? 0) > 90 }.compactMap(\.habitID))
            return contents.habits.filter { found.contains($0.id) }.map(\.id)
        },
        withContents("every entry has a value", "ALL entries { value != nil }", "Habit") { contents in
            let lacking = Set(contents.entries.filter { $0.value == nil }.compactMap(\.habitID))
            return contents.habits.filter { !lacking.contains($0.id) }.map(\.id)
        },
        withContents("more than a hundred entries", "COUNT entries > 100", "Habit") { contents in
            var counts: [UUID: Int] = [:]
            for entry in contents.entries { if let habit = entry.habitID { counts[habit, default: 0] += 1 } }
            return contents.habits.filter { counts[$0.id] ?? 0 > 100 }.map(\.id)
        },
    ]

    private static func withContents(
        _ name: String,
        _ filter: String,
        _ entity: String,
        _ expected: @escaping @Sendable (FixtureContents) -> [UUID]
    ) -> FixtureQuery {
        FixtureQuery(
            query: .init(name: name, entity: entity, filter: filter),
            expected: { expected($0).sorted { $0.isBefore($1) } }
        )
    }

    // MARK: Entries

    private static let entries: [FixtureQuery] = [
        entry("newest entries", sort: ["-date"], limit: 50, by: newest, where: { _ in true }),
        entry("third page of the newest", sort: ["-date"], limit: 50, offset: 100, by: newest, where: { _ in true }),
        entry("late", "note CONTAINS \"late\"", where: { $0.note?.contains("late") ?? false }),
        entry("not late", "NOT (note CONTAINS \"late\")", limit: 200, where: { !($0.note?.contains("late") ?? false) }),
        entry("an empty note", "note == \"\"", where: { $0.note == "" }),
        entry(
            "a note",
            "note != nil",
            sort: ["date"],
            limit: 100,
            by: { compare($0.date, $1.date) },
            where: { $0.note != nil }
        ),
        entry(
            "café, however written",
            "note CONTAINS[cd] \"cafe\"",
            where: {
                $0.note?.localizedStandardContains("cafe") ?? false
            }
        ),
        entry("without a habit", "habitID == nil", where: { $0.habitID == nil }),
        entry(
            "before 1970",
            "date < \"1970-01-01\"",
            sort: ["date"],
            by: { compare($0.date, $1.date) },
            where: {
                $0.date < Date(timeIntervalSince1970: 0)
            }
        ),
        entry(
            "after the year 4000",
            "date >= \"4000-01-01\"",
            where: { $0.date.timeIntervalSinceReferenceDate >= 63_082_281_600 }
        ),
        entry(
            "the night when summer time ended",
            "date >= \"2021-10-30T22:00:00Z\" AND date < \"2021-10-31T23:00:00Z\"",
            sort: ["date"],
            by: { compare($0.date, $1.date) },
            where: {
                (1_635_631_200..<1_635_721_200).contains($0.date.timeIntervalSince1970)
            }
        ),
        entry(
            "measured ten or more",
            "value >= 10",
            sort: ["-value", "date"],
            limit: 20,
            by: { left, right in
                let order = compare(right.value ?? 0, left.value ?? 0)
                return order == 0 ? compare(left.date, right.date) : order
            },
            where: { ($0.value ?? -.infinity) >= 10 }
        ),
        entry(
            "measured or remarked",
            "value != nil OR note != nil",
            sort: ["-value"],
            limit: 30,
            by: { left, right in
                switch (left.value, right.value) {
                case (nil, nil): return 0
                case (nil, _): return 1
                case (_, nil): return -1
                case (let a?, let b?): return compare(b, a)
                }
            },
            where: { $0.value != nil || $0.note != nil }
        ),
        entry("none at all", limit: 0, where: { _ in true }),
    ]

    // MARK: Tags and drafts

    private static let others: [FixtureQuery] = [
        FixtureQuery(
            query: .init(name: "drafts, newest first", entity: "Draft", sort: ["-creationDate"]),
            expected: { ordered($0.drafts) { compare($1.creationDate, $0.creationDate) } }
        ),
        FixtureQuery(
            query: .init(name: "drafts with a photo", entity: "Draft", filter: "attachments CONTAINS \"photo.jpg\""),
            expected: { ordered($0.drafts.filter { $0.attachments.contains("photo.jpg") }) { _, _ in 0 } }
        ),
        FixtureQuery(
            query: .init(name: "drafts with two attachments", entity: "Draft", filter: "LENGTH(attachments) == 2"),
            expected: { ordered($0.drafts.filter { $0.attachments.count == 2 }) { _, _ in 0 } }
        ),
        FixtureQuery(
            query: .init(name: "tags by name", entity: "Tag", sort: ["-name"]),
            expected: { ordered($0.tags) { $1.name.orderByBytes(comparedWith: $0.name) } }
        ),
    ]
}

/// The habit tracker's queries, shape by shape.
extension FixtureQuery {
    /// A habit, a tag, an entry and a draft of the tidy fixture.
    private static let habitID = "4415066F-DA71-4C75-84EA-CD2A3A7D62FC"
    fileprivate static let tagID = "AB012D33-1C53-48F4-A104-468540E49192"
    private static let entryID = "ECECDF60-21D2-448A-9619-1F20E01CEF63"
    private static let draftID = "05AD5442-8A26-480E-B091-B7D2748853FC"
    /// 2021-01-01 in seconds since 1970.
    private static let newYear = 1_609_459_200.0

    static let tracker: [FixtureQuery] = byReference + lists + entriesOfAHabit + searches

    private static func ask<M: PersistentModel>(
        _ name: String,
        _ records: @escaping @Sendable (FixtureContents) -> [M],
        _ filter: String? = nil,
        sort: [String]? = nil,
        limit: Int? = nil,
        by order: @escaping @Sendable (M, M) -> Int = { _, _ in 0 },
        where condition: @escaping @Sendable (M) -> Bool = { _ in true }
    ) -> FixtureQuery {
        FixtureQuery(
            query: .init(name: name, entity: M.entity.name, filter: filter, sort: sort, limit: limit),
            expected: { ordered(records($0).filter(condition), order) }
        )
    }

    /// Finds a record by its identifier, and the records whose identifiers begin with the same digit.
    private static func identified<M: PersistentModel>(
        _ what: String,
        _ id: String,
        _ records: @escaping @Sendable (FixtureContents) -> [M]
    ) -> [FixtureQuery] {
        let first = id.prefix(1) + "0000000-0000-0000-0000-000000000000"
        let last = id.prefix(1) + "FFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"
        return [
            ask("\(what): its identifier", records, "id == \"\(id)\"", where: { $0.id.uuidString == id }),
            ask(
                "\(what): the beginning of its identifier",
                records,
                "id >= \"\(first)\" AND id <= \"\(last)\"",
                where: { $0.id.uuidString.hasPrefix(id.prefix(1)) }
            ),
        ]
    }

    private static let byReference: [FixtureQuery] =
        identified("habit", habitID) { $0.habits } + identified("tag", tagID) { $0.tags }
        + identified("entry", entryID) { $0.entries } + identified("draft", draftID) { $0.drafts }
        + [ask("the tag health", { $0.tags }, "name == \"health\"", where: { $0.name == "health" })]

    private static let lists: [FixtureQuery] = [
        ask("all entries by identifier", { $0.entries }),
        ask("all tags by identifier", { $0.tags }),
        ask("all drafts by identifier", { $0.drafts }),
        ask(
            "tags, the first name first",
            { $0.tags },
            sort: ["name"],
            by: { $0.name.orderByBytes(comparedWith: $1.name) }
        ),
        ask(
            "active by name",
            { $0.habits },
            "isArchived == false",
            sort: ["name"],
            by: byName,
            where: { !$0.isArchived }
        ),
        ask(
            "put away, by name",
            { $0.habits },
            "isArchived == true",
            sort: ["name"],
            by: byName,
            where: { $0.isArchived }
        ),
        ask(
            "active in sport",
            { $0.habits },
            "isArchived == false AND category == \"sport\"",
            sort: ["name"],
            by: byName,
            where: { !$0.isArchived && $0.category == "sport" }
        ),
        ask(
            "active with a tag",
            { $0.habits },
            "isArchived == false AND tagIDs CONTAINS \"\(tagID)\"",
            sort: ["name"],
            by: byName,
            where: { !$0.isArchived && $0.isTagged }
        ),
        ask(
            "active in sport with a tag",
            { $0.habits },
            "isArchived == false AND category == \"sport\" AND tagIDs CONTAINS \"\(tagID)\"",
            sort: ["name"],
            by: byName,
            where: { !$0.isArchived && $0.category == "sport" && $0.isTagged }
        ),
    ]

    private static func entries(
        _ name: String,
        _ further: String = "",
        sort: String,
        limit: Int? = nil,
        where condition: @escaping @Sendable (Entry) -> Bool = { _ in true }
    ) -> FixtureQuery {
        ask(
            name,
            { $0.entries },
            "habitID == \"\(habitID)\"" + further,
            sort: [sort],
            limit: limit,
            by: { sort == "date" ? newest($1, $0) : newest($0, $1) },
            where: { $0.habitID?.uuidString == habitID && condition($0) }
        )
    }

    private static let entriesOfAHabit: [FixtureQuery] = [
        entries("of a habit, oldest first", sort: "date"),
        entries("of a habit, newest first", sort: "-date"),
        entries("the last of a habit", sort: "-date", limit: 5),
        entries(
            "of a habit since 2021",
            " AND date >= \"2021-01-01\"",
            sort: "-date",
            where: { $0.date.timeIntervalSince1970 >= newYear }
        ),
        entries(
            "the last of a habit since 2021",
            " AND date >= \"2021-01-01\"",
            sort: "-date",
            limit: 5,
            where: { $0.date.timeIntervalSince1970 >= newYear }
        ),
    ]

    private static let searches: [FixtureQuery] = [
        ask(
            "names with run, however written",
            { $0.habits },
            "name CONTAINS[cd] \"run\"",
            where: { $0.name.localizedStandardContains("run") }
        ),
        ask(
            "categories with port, however written",
            { $0.habits },
            "category CONTAINS[cd] \"port\"",
            where: { $0.category?.localizedStandardContains("port") ?? false }
        ),
        ask(
            "tags with ea, however written",
            { $0.tags },
            "name CONTAINS[cd] \"EA\"",
            where: { $0.name.localizedStandardContains("EA") }
        ),
        ask(
            "drafts with e, however written",
            { $0.drafts },
            "content CONTAINS[cd] \"e\"",
            where: { $0.content.localizedStandardContains("e") }
        ),
    ]
}

extension Habit {
    /// Whether the habit has the tag of the queries.
    fileprivate var isTagged: Bool { tagIDs.contains { $0.uuidString == FixtureQuery.tagID } }
}
