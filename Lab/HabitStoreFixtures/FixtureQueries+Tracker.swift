import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import ShadowVerifier

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
