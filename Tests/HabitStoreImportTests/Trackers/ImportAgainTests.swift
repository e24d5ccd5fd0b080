import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Two records with the same UUID (from a backup that was restored twice on the phone) are two entries. The second one's identifier depended on how
/// much
/// had been read before it: with one more habit in the source, another import added the record again.
@Suite struct ImportAgainTests {
    private let sandbox: TrackerSandbox

    private static let schema = """
        CREATE TABLE mh_habits (id_ INTEGER PRIMARY KEY, uuid TEXT, name TEXT, type INTEGER, status INTEGER, freq_type INTEGER,
          freq_custom TEXT, start_date INTEGER, create_t INTEGER);
        CREATE TABLE mh_records (id_ INTEGER PRIMARY KEY, uuid TEXT, parent_id INTEGER, parent_uuid TEXT, record_date INTEGER,
          record_type INTEGER, record_value REAL, reason TEXT, create_t INTEGER);
        """

    init() throws { sandbox = try TrackerSandbox() }

    private func uuid(_ digit: Int) -> String {
        let text = "00000000-0000-4000-8000-000000000000".map { $0 == "0" ? Character("\(digit)") : $0 }
        return String(text)
    }

    private func habit(_ number: Int, uuid: String? = nil, name: String = "Water") -> String {
        "INSERT INTO mh_habits VALUES (\(number), '\(uuid ?? self.uuid(number))', '\(name)', 1, 1, 3, '[1,1]', 20400, 1760000000);"
    }

    /// - Parameter days: the day of each record; all records have the same UUID.
    private func records(_ days: [Int]) -> String {
        days.map {
            "INSERT INTO mh_records (uuid, parent_id, parent_uuid, record_date, record_type, record_value, create_t) "
                + "VALUES ('\(uuid(9))', 2, '\(uuid(2))', \($0), 1, \($0 - 20_000), 1760000000);"
        }.joined()
    }

    private func run(_ sql: String...) throws -> TrackerReport {
        try sandbox.database("x.db", Self.schema + sql.joined())
        return try sandbox.run("x.db")
    }

    @Test func whatIsAddedOrGoneBesideARepeatedRecordDoesNotBringItInAgain() throws {
        #expect(try run(habit(2), records([20_500, 20_501, 20_501, 20_502])).entries.added == 4)
        for beside in ["", habit(1), habit(1) + habit(3), habit(3)] {
            #expect(
                try run(beside, habit(2), records([20_500, 20_501, 20_501, 20_502])).entries
                    == .init(inSource: 4, known: 4)
            )
        }
        // One of the records with that UUID is gone; the others keep their identities.
        #expect(try run(habit(2), records([20_500, 20_501, 20_502])).entries == .init(inSource: 3, known: 3))
        #expect(try sandbox.store.all(Entry.self).count == 4)
    }

    @Test func aHabitWithTheUUIDOfAnotherOneIsNotBroughtInAgain() throws {
        let twins = habit(4, uuid: uuid(4)) + habit(5, uuid: uuid(4), name: "Tea")
        #expect(try run(twins).habits.added == 2)
        #expect(try run(habit(2), twins, records([20_500])).habits.added == 1)
        #expect(try run(twins).habits == .init(inSource: 2, known: 2))
        #expect(try sandbox.store.all(Habit.self).count == 3)
    }

    /// Earlier versions gave identifiers that depended on the number of records: what they imported is recognized by its contents.
    @Test func aRepeatedRecordThatAnEarlierVersionImportedIsKnown() throws {
        _ = try run(habit(2), records([20_500, 20_501]))
        let second = try #require(try sandbox.store.all(Entry.self).first { $0.value == 501 })
        var earlier = second
        earlier = Entry(
            id: DerivedID.make(["tracker", "earlier"]),
            date: second.date,
            value: second.value,
            habitID: second.habitID
        )
        try sandbox.store.delete(second)
        try sandbox.store.save(earlier)
        #expect(try run(habit(1), habit(2), records([20_500, 20_501])).entries == .init(inSource: 2, known: 2))
        #expect(Set(try sandbox.store.all(Entry.self).map(\.id)).contains(earlier.id))
        // An entry that the user made is not mistaken for it.
        try sandbox.store.delete(earlier)
        try sandbox.store.save(Entry(id: UUID(), date: second.date, value: second.value, habitID: second.habitID))
        #expect(try run(habit(2), records([20_500, 20_501])).entries.added == 1)
    }
}
