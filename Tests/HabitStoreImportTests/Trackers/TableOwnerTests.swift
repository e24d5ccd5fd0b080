import Foundation
import HabitStore
import JSONText
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Ownership of entries, with nested lists and with several lists of habits.
@Suite struct TableOwnerTests {
    private func sandbox(_ name: String, _ text: String, _ mapping: String) throws -> TrackerSandbox {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(name, text)
        sandbox.options.mapping = try CoreDataMapping(parsing: Data(mapping.utf8))
        return sandbox
    }

    private func refusal(_ sandbox: TrackerSandbox, _ name: String) -> String {
        let error = #expect(throws: HabitStoreError.self) {
            try TrackerImport(path: sandbox.folder.path(name), sandbox.options)
        }
        #expect(error?.code == .invalidValue)
        return error?.message ?? ""
    }

    private static let deep = """
        {"format": 1, "entities": [
          {"source": "habits", "target": "Habit", "attributes": {"name": "name"}},
          {"source": "habits.weeks.days", "target": "Entry", "attributes": {"date": "date"}}]}
        """

    /// A day had its week's place, which was taken for its habit's: the days of A's second week became B's, with a report that said "verified". Now a
    /// row has
    /// the places of all enclosing rows.
    @Test func entriesTwoListsBelowAHabitStayItsOwn() throws {
        let sandbox = try sandbox(
            "x.json",
            """
            {"habits": [
              {"name": "A", "weeks": [{"n": 1, "days": [{"date": "2026-01-01"}]}, {"n": 2, "days": [{"date": "2026-01-08"}]}]},
              {"name": "B", "weeks": [{"n": 1, "days": [{"date": "2026-01-02"}]}]}]}
            """,
            Self.deep
        )
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["A 2026-01-01", "A 2026-01-08", "B 2026-01-02"])
        #expect(report.kept("habits.weeks: no place here") == 3)
    }

    /// With more weeks than habits, the place was beyond the end of the list of habits, and the process crashed.
    @Test func moreListsThanHabitsEndNothing() throws {
        let sandbox = try sandbox(
            "x.json",
            #"{"habits": [{"name": "A", "weeks": [{"days": [{"date": "2026-01-01"}]}, {"days": [{"date": "2026-01-08"}]}]}]}"#,
            Self.deep
        )
        try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["A 2026-01-01", "A 2026-01-08"])
    }

    /// The tally used the import's own lists to find a row's owner, and repeated their errors. Now it follows the path through the file on its own.
    @Test func theTallyFindsOwnersInTheFileItself() throws {
        let file = Data(
            #"{"habits": [{"name": "A", "weeks": [{"days": ["2026-01-01"]}, {"days": ["2026-01-08"]}]}, {"name": "B"}]}"#
                .utf8
        )
        let rows = NestedRows(of: "habits.weeks.days", in: try JSON(parsing: Array(file))).rows
        #expect(rows.map { $0.fields["value"] } == [.string("2026-01-01"), .string("2026-01-08")])
        #expect(rows.map { $0.owners.first?.place } == [0, 0])
        #expect(rows.map { $0.owners.last?.place } == [0, 1])
    }

    /// Habits below groups are kept apart across the groups; the days of a habit that the mapping leaves out are left out too.
    @Test func daysOfAHabitThatIsLeftOutAreNobodyElses() throws {
        let sandbox = try sandbox(
            "x.json",
            """
            {"groups": [{"title": "g", "habits": [{"name": "A", "on": 0, "log": [{"date": "2026-01-01"}]}]},
              {"title": "h", "habits": [{"name": "B", "on": 1, "log": [{"date": "2026-01-02"}]}]}]}
            """,
            """
            {"format": 1, "entities": [
              {"source": "groups.habits", "target": "Habit", "only": {"on": [1]}, "attributes": {"name": "name"}},
              {"source": "groups.habits.log", "target": "Entry", "attributes": {"date": "date"}}]}
            """
        )
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["B 2026-01-02"])
        #expect(report.kept("groups.habits.log: of a habit that is not there") == 1)
    }

    /// Entries of the second list went to the habits of the first, at the same places. Now each entry belongs to the list that contains it.
    @Test func twoListsOfHabitsKeepTheirOwnEntries() throws {
        let sandbox = try sandbox(
            "x.json",
            """
            {"habits": [{"id": 1, "name": "Run", "log": [{"date": "2026-02-01"}]}],
             "vices": [{"id": 1, "name": "Smoke", "log": [{"date": "2026-02-05"}, {"date": "2026-02-06"}]}]}
            """,
            """
            {"format": 1, "entities": [
              {"source": "habits", "target": "Habit", "key": "id", "attributes": {"name": "name"}},
              {"source": "vices", "target": "Habit", "key": "id", "attributes": {"name": "name"}},
              {"source": "habits.log", "target": "Entry", "attributes": {"date": "date"}},
              {"source": "vices.log", "target": "Entry", "attributes": {"date": "date"}}]}
            """
        )
        try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["Run 2026-02-01", "Smoke 2026-02-05", "Smoke 2026-02-06"])
        #expect(try sandbox.run("x.json").entries.added == 0)
    }

    /// A numeric column does not say in which of two tables of habits it is looked up: all entries went to the first. Such a mapping is now refused,
    /// in a
    /// line that explains how to write it.
    @Test func aColumnThatMayLeadToTwoTablesOfHabitsIsRefused() throws {
        let sandbox = try sandbox(
            "unused",
            "",
            """
            {"format": 1, "entities": [
              {"source": "habits", "target": "Habit", "key": "id", "attributes": {"name": "name"}},
              {"source": "vices", "target": "Habit", "key": "id", "attributes": {"name": "name"}},
              {"source": "c", "target": "Entry", "attributes": {"date": "date"}, "relationships": {"vice_id": "habit"}}]}
            """
        )
        try sandbox.database(
            "x",
            """
            CREATE TABLE habits (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE vices (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE c (vice_id INTEGER, date TEXT);
            INSERT INTO habits VALUES (1, 'Run'); INSERT INTO vices VALUES (1, 'Smoke'); INSERT INTO c VALUES (1, '2026-01-02');
            """
        )
        let message = refusal(sandbox, "x")
        #expect(message.contains("c.vice_id may lead to habits or vices"))
        #expect(message.contains("a mapping for each of them"))
    }
}
