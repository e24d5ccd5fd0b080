import DurableFiles
import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// A database from an untrusted source may have any length, and its schema may demand anything.
@Suite struct HostileDatabaseTests {
    private static let length: UInt64 = 20 << 30

    private func library() throws -> CoreDataFixture {
        let fixture = try CoreDataFixture.library(history: false)
        fixture.close()
        return fixture
    }

    private func lengthen(_ path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: Self.length)
        try file.close()
    }

    private func tags(_ file: CoreDataFile) throws -> Int { try file.count(of: try #require(file.model.entity("Tag"))) }

    // MARK: Length

    /// A sparse file of 20 GB was copied and hashed, byte by byte, before its kind was checked.
    @Test func aFileOfZerosIsRefusedBeforeAnythingIsCopied() throws {
        let fixture = try CoreDataFixture()
        let path = fixture.folder.appendingPathComponent("zeros.sqlite").path
        try Data().write(to: URL(fileURLWithPath: path))
        try lengthen(path)
        let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: path) }
        #expect(error?.code == .notAStore)
        #expect(error?.location.path == path)
        let tables = #expect(throws: HabitStoreError.self) { try SourceTables(path: path) }
        #expect(tables?.code == .limitExceeded)
        // It was searched to its end for the word that identifies an export.
        #expect(try InterchangeSource(path: path).map { _ in true } == nil)
    }

    @Test func aCopyHasTheHolesOfItsSource() throws {
        let fixture = try library()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        try lengthen(fixture.path)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.path))
        try file.seek(toOffset: Self.length - 3)
        try file.write(contentsOf: Data("end".utf8))
        try file.close()
        let copy = fixture.path + "-copy"
        try FileCopy.copy(fixture.path, to: copy)
        var status = stat()
        try #require(stat(copy, &status) == 0)
        #expect(UInt64(status.st_size) == Self.length)
        #expect(status.st_blocks * 512 < 4 << 20, "the copy takes \(status.st_blocks * 512) bytes of the disk")
        let reader = try FileHandle(forReadingFrom: URL(fileURLWithPath: copy))
        #expect(try reader.read(upToCount: bytes.count) == bytes)
        try reader.seek(toOffset: Self.length - 5)
        #expect(try reader.readToEnd() == Data([0, 0]) + Data("end".utf8))
        #expect(try FileCopy.isZero(copy, from: off_t(Self.length - 5)) == false)
        #expect(try FileCopy.isZero(copy, from: off_t(bytes.count)) == false)
    }

    @Test func roomBehindTheLastPageIsSaidAndAnythingElseThereProvesALoss() throws {
        let fixture = try library()
        try lengthen(fixture.path)
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.oddities.map(\.kind) == ["fileLonger"])
        #expect(try tags(file) == 2)
        let target = try ImportTarget(.sqlite)
        #expect(try target.update(from: fixture.path).shortfalls.isEmpty)

        let other = try library()
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: other.path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(repeating: 7, count: 5_000))
        try handle.close()
        #expect(try CoreDataFile(path: other.path).oddities.map(\.kind) == ["pagesUncounted"])
        let store = other.folder.appendingPathComponent("store.sqlite").path
        let run = try CommandLineRun("import", "coredata", other.path, "--into", "sqlite:\(store)", home: other.folder)
        #expect(run.status == 1)
        #expect(run.output.contains("LOSS pagesUncounted: the file has 5000 bytes after its last page"))
        let verified = try CommandLineRun("verify", other.path, store, home: other.folder)
        #expect(verified.status == 1)
    }

    /// If the header contains no page count, the file's length counts, and then nearly all pages of this file belong to nothing.
    @Test func aLongFileWhoseHeaderCountsNoPagesIsDamaged() throws {
        let fixture = try library()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        bytes[95] ^= 1
        try bytes.write(to: URL(fileURLWithPath: fixture.path))
        try lengthen(fixture.path)
        let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path) }
        #expect(error?.code == .corrupt)
    }

    /// The whole log was read into memory.
    @Test func aLogOfZerosIsSaidToBeNone() throws {
        let fixture = try library()
        try Data().write(to: URL(fileURLWithPath: fixture.path + "-wal"))
        try lengthen(fixture.path + "-wal")
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.oddities.map(\.kind) == ["logInvalid"])
        #expect(try tags(file) == 2)
    }

    // MARK: Hostile schemas

    /// A file of 80 kB made the reader compute values of hundreds of megabytes, with an expression in a CHECK constraint or a generated column.
    @Test(arguments: [
        "CREATE TABLE ZBOMB (Z_PK INTEGER PRIMARY KEY CHECK (length(hex(zeroblob(300000000))) > Z_PK))",
        "CREATE TABLE ZBOMB (Z_PK INTEGER PRIMARY KEY, ZMORE TEXT AS (hex(zeroblob(300000000))))",
    ])
    func anExpressionMayNotMakeAValueThatIsLargerThanTheFile(_ table: String) throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("PRAGMA ignore_check_constraints = ON; \(table); INSERT INTO ZBOMB (Z_PK) VALUES (1)")
        fixture.close()
        let error = #expect(throws: HabitStoreError.self) {
            let file = try CoreDataFile(path: fixture.path)
            _ = try file.connection.texts("SELECT * FROM ZBOMB")
            let rows = try file.connection.prepare("SELECT * FROM ZBOMB")
            while try rows.step() {}
        }
        #expect(error?.code == .limitExceeded, "\(String(describing: error))")
    }

    /// An endless view had replaced the table of entities, and was queried for the highest keys when the file's log was judged, before anything
    /// checked what
    /// it is.
    @Test func aViewInThePlaceOfATableIsNotAsked() throws {
        let fixture = try CoreDataFixture(log: true)
        try fixture.writeLibrary()
        try fixture.sql(
            """
            DROP TABLE Z_PRIMARYKEY;
            CREATE VIEW Z_PRIMARYKEY AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
              SELECT i AS Z_ENT, 'Book' AS Z_NAME, 0 AS Z_SUPER, i AS Z_MAX FROM n;
            PRAGMA wal_checkpoint(PASSIVE);
            INSERT INTO ZTAG VALUES (3, 5, 1, 'new');
            """
        )
        let copy = try fixture.copy()
        let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: copy) }
        #expect(error?.code == .notAStore)
    }

    @Test func statementsAreOfTheSizeThatTheReaderHasUseFor() throws {
        let fixture = try library()
        let file = try CoreDataFile(path: fixture.path)
        func refuses(_ sql: String) -> Bool {
            do {
                _ = try file.connection.texts(sql)
                return false
            } catch {
                return true
            }
        }
        #expect(!refuses("SELECT " + Array(repeating: "1", count: 400).joined(separator: " + ")))
        #expect(refuses("SELECT " + Array(repeating: "1", count: 600).joined(separator: " + ")))
        #expect(refuses(Array(repeating: "SELECT 1", count: 200).joined(separator: " UNION ALL ")))
        #expect(refuses("SELECT '\(String(repeating: "x", count: 1_000_000))'"))
        #expect(refuses("ATTACH '\(fixture.path)' AS other"))
        #expect(refuses("SELECT ?101"))
    }

    // MARK: Width

    /// The values of columns without an attribute were selected by an OR over all columns of a table, which is as deep as there are columns, and
    /// SQLite's
    /// limit is 1,000.
    @Test func aTableOfAsManyColumnsAsThereCanBeIsKept() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let columns = (0..<1_800).map { "ZCOLUMN\($0) VARCHAR" }.joined(separator: ", ")
        try fixture.sql(
            """
            DROP TABLE ZTAG;
            CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, \(columns));
            INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME, ZCOLUMN0, ZCOLUMN1799) VALUES (1, 5, 1, 'a', 'first', 'last'),
              (2, 5, 1, 'b', NULL, NULL);
            """
        )
        fixture.close()
        let target = try ImportTarget(.sqlite)
        let report = try target.update(from: fixture.path)
        #expect(
            report.losses.map(\.reason) == [0, 1_799].map { "ZCOLUMN\($0) belongs to nothing in the model" }
        )
        #expect(try target.unaccounted(of: fixture.path).isEmpty)
    }
}
