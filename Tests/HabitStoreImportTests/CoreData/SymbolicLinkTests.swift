import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// An app's last saves are in the `-wal` next to its file. With a symbolic link to the file no `-wal` was found next to the link, and 0 records of
/// 5,000
/// were imported, with exit code 0.
@Suite struct SymbolicLinkTests {
    private func link(to path: String, in folder: URL) throws -> String {
        let elsewhere = folder.appendingPathComponent("elsewhere-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
        let link = elsewhere.appendingPathComponent("link.sqlite").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        return link
    }

    @Test func aLinkLeadsToTheLogOfItsTarget() throws {
        let fixture = try CoreDataFixture(log: true)
        try fixture.writeLibrary()
        try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO ZTAG VALUES (3, 5, 1, 'new')")
        let copy = try fixture.copy()
        let file = try CoreDataFile(path: try link(to: try link(to: copy, in: fixture.folder), in: fixture.folder))
        #expect(try file.count(of: try #require(file.model.entity("Tag"))) == 3)
        #expect(file.oddities.map(\.kind) == ["logRead"])
    }

    @Test func aLinkLeadsToTheDataBesideItsTarget() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let folder = fixture.folder.appendingPathComponent(".app_SUPPORT/_EXTERNAL_DATA")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let name = UUID().uuidString
        try Data("beside".utf8).write(to: folder.appendingPathComponent(name))
        let file = try CoreDataFile(path: try link(to: fixture.path, in: fixture.folder))
        #expect(file.external.read(name) == Data("beside".utf8))
    }

    @Test func aTrackersDatabaseIsReadWithItsLogThroughALink() throws {
        let fixture = try CoreDataFixture(log: true)
        try fixture.sql(
            "CREATE TABLE ticks (day TEXT); PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO ticks VALUES ('today')"
        )
        let database = try SourceDatabase(path: try link(to: try fixture.copy(), in: fixture.folder))
        #expect(try database.count("ticks") == 1)
    }
}
