import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

/// A habit's entries are read from the index that has them in their order, and from nowhere else.
@Suite("SQLite's clustering index")
struct SQLiteClusteringTests {
    private static let index = "Entry_by_habitID_date"
    private static let clustered = "clustering index Entry(habitID, date)"

    private func filled() throws -> SQLiteTestStore {
        let file = try SQLiteTestStore()
        try file.make { transaction in
            try transaction.insert(Habit(id: testID(1), name: "Run"))
            for number in UInt8(10)..<50 {
                let date = Date(timeIntervalSinceReferenceDate: Double(number))
                try transaction.insert(Entry(id: testID(number), date: date, note: "n", habitID: testID(1)))
            }
        }
        return file
    }

    /// Turns the file into one of a version whose index had only keys.
    private func makeOlder(_ file: SQLiteTestStore) throws {
        try file.sql(
            """
            DROP INDEX \(Self.index);
            CREATE INDEX \(Self.index) ON Entry (habitID, date, id);
            DELETE FROM habitstore_metadata WHERE key = 'indexes'
            """
        )
    }

    private func range(_ order: SortOrder = .forward) -> FetchDescriptor<Entry> {
        let (id, from): (UUID?, Date) = (testID(1), Date(timeIntervalSinceReferenceDate: 20))
        return FetchDescriptor(
            predicate: #Predicate { $0.habitID == id && $0.date >= from },
            sortBy: [SortDescriptor(\.date, order: order)]
        )
    }

    private func columns(_ file: SQLiteTestStore) throws -> [String] {
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        return try SQLiteIndexUpkeep.columns(of: Self.index, connection)
    }

    private func schemaVersion(_ file: SQLiteTestStore) throws -> Int64? {
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        return try connection.int64("PRAGMA schema_version")
    }

    @Test func wholeRecordsComeFromTheIndexAlone() throws {
        let file = try filled()
        #expect(try columns(file) == ["habitID", "date", "id", "note", "value"])
        let store = try file.open()
        defer { file.close(store) }
        for order in [SortOrder.forward, .reverse] {
            #expect(try store.explain(range(order)).accessPath == Self.clustered)
            let query = try RecordQuery(
                entity: "Entry",
                filter: FilterExpression(text: "habitID == \"\(testID(1).uuidString)\""),
                sort: [.init("date", ascending: order == .forward)]
            ).bound(to: store.schema)
            let lines = try store.core.engine.read { snapshot in
                let plan = try snapshot.plan(query)
                let statement = try snapshot.connection.prepare("EXPLAIN QUERY PLAN " + plan.sql)
                var lines: [String] = []
                while try statement.step() { lines.append(try statement.text(at: 3)) }
                return lines
            }
            #expect(lines.first?.hasPrefix("SEARCH t0 USING COVERING INDEX \(Self.index) (habitID=?") == true)
        }
    }

    /// The verifier and the digests read the table, with which the copies are compared.
    @Test func recordsByIdentifierComeFromTheTable() throws {
        let file = try filled()
        let table = "\"Entry\""
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        let columns = "\"id\", \"date\", \"note\", \"value\", \"habitID\""
        for condition in ["", " WHERE \"id\" >= x'00' AND \"id\" <= x'ff'", " WHERE \"id\" = x'00'"] {
            let plan = try connection.prepare(
                "EXPLAIN QUERY PLAN SELECT \(columns) FROM \(table)\(condition) ORDER BY \"id\""
            )
            while try plan.step() { #expect(try !plan.text(at: 3).contains(Self.index)) }
        }
    }

    @Test func anOlderStoreIsChangedWhenItIsOpenedForWriting() throws {
        let file = try filled()
        try makeOlder(file)
        let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
        let reading = try file.open(.init(isReadOnly: true))
        #expect(try reading.explain(range()).accessPath == "index Entry(habitID, date)")
        #expect(try reading.fetch(range()).count == 30)
        #expect(try reading.check { _ in }.isEmpty)
        reading.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before, "the file was changed")
        let writing = try file.open()
        #expect(try writing.explain(range()).accessPath == Self.clustered)
        #expect(try writing.fetch(range(.reverse)).map(\.id) == (20..<50).reversed().map { testID($0) })
        #expect(try writing.check { _ in }.isEmpty)
        writing.close()
        let version = try schemaVersion(file)
        file.close(try file.open())
        #expect(try schemaVersion(file) == version, "the index was made twice")
    }

    /// A program that cannot write now is served all the same; the index is rebuilt another time.
    @Test func aStoreThatIsBusyIsServedWithTheIndexThatItHas() throws {
        let file = try filled()
        try makeOlder(file)
        let other = try SQLiteConnection(path: file.path, mode: .readWrite)
        try other.exec("BEGIN IMMEDIATE")
        var options = SQLiteHabitStore.Options()
        options.busyLimitSeconds = 0.1
        let store = try file.open(options)
        #expect(try store.explain(range()).accessPath == "index Entry(habitID, date)")
        #expect(try store.fetch(range()).count == 30)
        try other.exec("COMMIT")
        other.close()
        try store.save(Entry(id: testID(60), date: Date(timeIntervalSinceReferenceDate: 60), habitID: testID(1)))
        store.close()
        let again = try file.open()
        defer { file.close(again) }
        #expect(try again.explain(range()).accessPath == Self.clustered)
        #expect(try again.fetch(range()).count == 31)
    }

    @Test func twoStoresOnOneFileFollowEachOther() throws {
        let file = try filled()
        let first = try file.open()
        #expect(try first.fetch(range()).count == 30)
        let raw = try SQLiteConnection(path: file.path, mode: .readWrite)
        try raw.exec("DROP INDEX \(Self.index)")
        try raw.exec("CREATE INDEX \(Self.index) ON Entry (habitID, date, id)")
        try raw.exec("DELETE FROM habitstore_metadata WHERE key = 'indexes'")
        raw.close()
        #expect(try first.fetch(range()).count == 30)
        let second = try file.open()
        defer { file.close(second) }
        try first.save(Entry(id: testID(60), date: Date(timeIntervalSinceReferenceDate: 60), habitID: testID(1)))
        #expect(try first.explain(range()).accessPath == Self.clustered)
        #expect(try second.fetch(range()).map(\.id).last == testID(60))
        #expect(try first.check { _ in }.isEmpty)
        first.close()
    }

    @Test func aCopyThatIsNotTheRecordsIsNamed() throws {
        let file = try filled()
        try file.shell(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = sql || ' WHERE id IS NULL' WHERE name = '\(Self.index)'
            """
        )
        try file.shell("UPDATE Entry SET note = 'newer' WHERE id = x'00000000000000000000000000000015'")
        try file.shell(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, ' WHERE id IS NULL', '') WHERE name = '\(Self.index)'
            """
        )
        let store = try file.open()
        defer { file.close(store) }
        let findings = try store.check { _ in }
        #expect(findings.allSatisfy { $0.severity == .damage })
        let named = findings.filter { $0.id != nil }
        #expect(named.map(\.kind) == ["indexCopyStale"])
        #expect(named.map(\.id) == [testID(21)] && named.map(\.entity) == ["Entry"])
    }
}
