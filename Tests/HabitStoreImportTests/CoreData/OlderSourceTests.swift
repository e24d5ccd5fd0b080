import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

/// The same file without its `-wal` is an older one. Importing it restored deleted records and undid changes, with exit code 0.
@Suite struct OlderSourceTests {
    private func code(_ target: ImportTarget, _ path: String, _ options: CoreDataImporter.Options = .init()) throws
        -> HabitStoreError.Code?
    {
        do {
            try target.update(from: path, options)
            return nil
        } catch let error as HabitStoreError {
            #expect(error.code != .olderSource || error.message.contains("--allow-older"))
            return error.code
        }
    }

    private func library(history: Bool = false) throws -> CoreDataFixture {
        let fixture = try CoreDataFixture(log: true)
        try fixture.writeLibrary()
        if history { try fixture.writeHistory() }
        try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return fixture
    }

    /// Changes by an app that are only in the log, without which the file is older.
    static let changes: [(name: String, sql: String)] = [
        (
            "a record is new",
            "INSERT INTO ZTAG VALUES (3, 5, 1, 'new'); UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_ENT = 5"
        ),
        ("a record is deleted", "DELETE FROM ZPAGE WHERE Z_PK = 5"),
        ("a record is changed", "UPDATE ZTAG SET ZNAME = 'other', Z_OPT = 2 WHERE Z_PK = 1"),
        ("a record is changed past Core Data", "UPDATE ZTAG SET ZNAME = 'other' WHERE Z_PK = 1"),
    ]

    @Test(arguments: changes)
    func aFileWithoutTheLogThatWasImportedIsRefused(_ change: (name: String, sql: String)) throws {
        let fixture = try library()
        try fixture.sql(change.sql)
        let (newer, older) = (try fixture.copy(), try fixture.copy([""]))
        let target = try ImportTarget(.sqlite)
        #expect(try code(target, newer) == nil)
        let before = try target.contents(of: newer)
        #expect(try code(target, older) == .olderSource, "\(change.name)")
        #expect(try target.contents(of: newer) == before)
        #expect(try code(target, newer) == nil, "the file itself is imported again")
        var options = CoreDataImporter.Options()
        options.allowsOlder = true
        #expect(try code(target, older, options) == nil)
        #expect(try target.contents(of: newer) != before)
    }

    @Test func aFileWhoseHistoryEndsEarlierIsRefused() throws {
        let fixture = try library(history: true)
        let older = try fixture.copy()
        var app = FixtureApp(fixture, seed: 3)
        for _ in 0..<3 { try app.save() }
        let target = try ImportTarget(.lmdb)
        #expect(try code(target, try fixture.copy()) == nil)
        #expect(try code(target, older) == .olderSource)
    }

    @Test func aFileThatItsAppWentOnWritingIsNotOlder() throws {
        let fixture = try library()
        let target = try ImportTarget(.sqlite)
        #expect(try code(target, try fixture.copy()) == nil)
        for sql in Self.changes.map(\.sql) {
            try fixture.sql(sql)
            #expect(try code(target, try fixture.copy()) == nil)
            // After a checkpoint the file has the same records.
            try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
            #expect(try code(target, try fixture.copy()) == nil)
        }
    }
}
