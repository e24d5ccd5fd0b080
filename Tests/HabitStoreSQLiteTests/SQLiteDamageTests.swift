import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite: what a file holds is not trusted")
struct SQLiteDamageTests {
    private func filled() throws -> SQLiteTestStore {
        let file = try SQLiteTestStore()
        try file.make { transaction in
            try transaction.insert(Tag(id: testID(9), name: "t"))
            try transaction.insert(Habit(id: testID(1), name: "h", tagIDs: [testID(9)]))
            try transaction.insert(Entry(id: testID(2), date: Date(), habitID: testID(1)))
            try transaction.insert(Draft(id: testID(3), content: "c", attachments: ["a"]))
        }
        return file
    }

    @Test(arguments: [
        ("Habit", "isArchived", "UPDATE Habit SET isArchived = 2", 1),
        ("Habit", "target", "UPDATE Habit SET target = 9e999", 1),
        ("Habit", "createdAt", "UPDATE Habit SET createdAt = -9e999", 1),
        ("Habit", "name", "UPDATE Habit SET name = CAST(x'ff' AS TEXT)", 1),
        ("Habit", "tagIDs", "UPDATE Habit_tagIDs SET target = x'01'", 1),
        ("Entry", "habitID", "UPDATE Entry SET habitID = x'0102'", 2),
        ("Draft", "attachments", "UPDATE Draft SET attachments = '{}'", 3),
        ("Tag", "id", "UPDATE Tag SET id = x'01'", 0),
    ])
    func aValueThatIsNoneIsCorruptWithItsPlace(_ entity: String, _ attribute: String, _ sql: String, _ id: UInt8) throws
    {
        let file = try filled()
        try file.sql(sql)
        let store = try file.open()
        defer { file.close(store) }
        let error = try requireSQLiteWrapperError(.corrupt) {
            _ = try store.read { try $0.records(RecordQuery(entity: entity)) }
        }
        #expect(error.location.entity == entity)
        #expect(error.location.attribute == attribute)
        #expect(error.location.id == (id == 0 ? nil : testID(id)))
        let findings = try store.check { _ in }
        #expect(findings.contains { $0.severity == .damage && $0.entity == entity && $0.attribute == attribute })
        if entity == "Habit" { try expectSQLiteWrapperError(.corrupt) { _ = try store.all(Habit.self) } }
        if entity == "Draft" { try expectSQLiteWrapperError(.corrupt) { _ = try store.all(Draft.self) } }
        if entity == "Entry" {
            try expectSQLiteWrapperError(.corrupt) { _ = try store.all(Entry.self) }
            try expectSQLiteWrapperError(.corrupt) {
                try store.replicaRead { try $0.enumerate(entity: 1, after: nil) { _, _ in true } }
            }
        }
    }

    @Test func linksWithoutAnOwnerAreDamageAndDoNotBecomeAnotherRecords() throws {
        let file = try filled()
        try file.sql(
            "INSERT INTO Habit_tagIDs SELECT CAST(substr(owner, 1, 15) || x'07' AS BLOB), target FROM Habit_tagIDs"
        )
        let store = try file.open()
        defer { file.close(store) }
        let findings = try store.check { _ in }
        #expect(findings.map(\.kind) == ["linkWithoutOwner"])
        #expect(findings.first?.severity == .damage && findings.first?.id == testID(7))
        try store.save(Habit(id: testID(7), name: "new"))
        #expect(try store.model(Habit.self, id: testID(7))?.tagIDs == [])
        #expect(try store.check { _ in } == [])
    }

    @Test func aMissingIndexIsReportedAndAnswersStayRight() throws {
        let file = try filled()
        try file.sql("DROP INDEX Entry_by_habitID_date; DROP INDEX Habit_tagIDs_by_target")
        let store = try file.open()
        defer { file.close(store) }
        #expect(try store.check { _ in }.map(\.kind) == ["indexMissing", "indexMissing"])
        let related = FetchDescriptor(predicate: #Predicate<Habit> { !$0.entries.isEmpty })
        #expect(try store.fetchCount(related) == 1)
        #expect(try store.delete(Habit.self, where: #Predicate { _ in true }) == 1)
        #expect(try store.fetchCount(FetchDescriptor<Entry>()) == 0)
    }

    /// The integrity check named the index that does not match its table but not the record, which someone repairing the store had to search for.
    @Test func anIndexEntryThatDoesNotFitNamesItsRecord() throws {
        let file = try filled()
        func define(_ index: String, _ condition: String) throws {
            let definition = "substr(sql, 1, instr(sql || ' WHERE', ' WHERE') - 1)"
            try file.shell(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = \(definition) || '\(condition)' WHERE name = '\(index)'
                """
            )
        }
        // A partial index is rebuilt, or not maintained; then it is declared as a full one again.
        try define("Entry_by_date", " WHERE date IS NULL")
        try file.shell("REINDEX Entry_by_date")
        try define("Entry_by_date", "")
        try define("Habit_tagIDs_by_target", " WHERE owner IS NULL")
        try file.shell("DELETE FROM Habit_tagIDs WHERE owner IS NOT NULL")
        try define("Habit_tagIDs_by_target", "")
        let store = try file.open()
        defer { file.close(store) }
        let findings = try store.check { _ in }
        #expect(findings.allSatisfy { $0.severity == .damage })
        let named = findings.filter { $0.id != nil }
        #expect(named.map(\.kind) == ["indexEntryExtra", "indexEntryMissing"])
        #expect(named.map(\.id) == [testID(1), testID(2)])
        #expect(named.map(\.entity) == ["Habit", "Entry"])
    }

    @Test(arguments: [
        "UPDATE history_change SET kind = 'odd'", "UPDATE history_change SET kind = 'delete'",
        "UPDATE history_change SET kind = 'update', attributes = '7'",
        "UPDATE history_change SET kind = 'delete', tombstone = '{\"a\": 1}'", "UPDATE history_change SET id = x'00'",
        "UPDATE history_transaction SET timestamp = 9e999",
    ])
    func aDamagedHistoryIsAnErrorValue(_ sql: String) throws {
        let file = try filled()
        try file.sql(sql)
        let store = try file.open()
        defer { file.close(store) }
        try expectSQLiteWrapperError(.corrupt) { _ = try store.fetchHistory(after: .zero) }
        let findings = try store.check { _ in }
        #expect(findings.map(\.kind) == ["unreadable"] && findings.map(\.severity) == [.damage])
    }

    @Test(arguments: [
        "DROP TABLE Tag", "ALTER TABLE Tag DROP COLUMN name", "DROP TABLE Habit_tagIDs", "DROP TABLE history_change",
    ])
    func aMissingTableOrColumnIsDamageOfTheFile(_ sql: String) throws {
        let file = try filled()
        try file.sql("DROP INDEX Tag_by_name; \(sql)")
        let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open() }
        #expect(error.message.contains("missing"))
        #expect(error.location.path == file.path)
    }

    @Test func changesWithoutTheirTransactionAreDamage() throws {
        let file = try filled()
        try file.sql("INSERT INTO history_change VALUES (7, 1, 'Tag', zeroblob(16), 'insert', NULL, NULL)")
        let store = try file.open()
        defer { file.close(store) }
        #expect(try store.check { _ in }.map(\.kind) == ["historyChangeOrphaned"])
    }

    @Test func anOverwrittenPageIsFoundAndEndsNothingButTheCall() throws {
        let file = try SQLiteTestStore()
        try file.make { transaction in
            for number in 0..<3_000 { try transaction.insert(Tag(name: "tag \(number)")) }
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
        // The pages of the records and of their index; not those of the bookkeeping, which opening the store reads.
        for start in stride(from: 0, to: bytes.count, by: 4_096)
        where bytes[start..<start + 4_096].range(of: Data("tag 2999".utf8)) != nil {
            bytes.replaceSubrange(start..<start + 64, with: Data(repeating: 0xA5, count: 64))
        }
        try bytes.write(to: URL(fileURLWithPath: file.path))
        let store = try file.open()
        defer { file.close(store) }
        try expectSQLiteWrapperError(.corrupt) { _ = try store.all(Tag.self) }
        let findings = try store.check { _ in }
        #expect(!findings.isEmpty && findings.allSatisfy { $0.severity == .damage })
    }
}
