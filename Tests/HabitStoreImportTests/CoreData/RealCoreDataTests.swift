import CSQLite
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// Core Data files from real apps, if available.
@Suite(.enabled(if: RealFiles.folder != nil, "HABITSTORE_REAL_STORES names no folder"))
struct RealCoreDataTests {
    /// Every SQLite database in the folder with Core Data's tables.
    static var files: [String] {
        guard let folder = RealFiles.folder, let names = try? FileManager.default.subpathsOfDirectory(atPath: folder)
        else { return [] }
        return names.sorted().filter { name in
            guard SourceKind(path: folder + "/" + name) == .database, let copy = try? RealCopy(name)
            else { return false }
            return (try? copy.number("SELECT count(*) FROM sqlite_master WHERE name = 'Z_METADATA'")) == 1
        }
    }

    @Test(arguments: files, TargetEngine.onDisk)
    func aRealFileIsBroughtOverWithoutLoss(_ name: String, _ engine: TargetEngine) throws {
        let copy = try RealCopy(name)
        let before = try copy.contents()
        let target = try ImportTarget(engine)
        let report = try target.update(from: copy.path)
        #expect(report.lost == 0, "\(name): \(report.losses)")
        #expect(try target.update(from: copy.path).entities.allSatisfy { $0.inserted + $0.updated == 0 } == true)
        let file = try CoreDataFile(path: copy.path)
        defer { file.close() }
        let store = try target.open(file)
        defer { store.close() }
        let witness = try CoreDataWitness.store(of: file, for: store)
        let verified = try ShadowVerifier(.init(name: "file", store: witness), .init(name: "store", store: store)).run()
        #expect(verified.verdict == .match, "\(name): \(verified.differences.map(\.message))")
        #expect(try CoreDataAccount(of: file, in: store).unaccounted.map(\.message) == [], "\(name)")
        #expect(try store.check { _ in }.filter { $0.severity == .damage }.isEmpty == true)
        file.close()
        #expect(try copy.contents() == before, "\(name): the file was changed")
        // Counted by SQLite directly, which is not how the import opens the file.
        for (table, entity) in try copy.roots() {
            let records = try copy.number("SELECT count(*) FROM \(table)")
            #expect(verified.b.counts[entity] == records, "\(name): \(entity)")
        }
    }
}

/// A copy of a file, including the files next to it.
private final class RealCopy {
    let path: String
    private let folder: TemporaryFolder

    init(_ name: String) throws {
        folder = try TemporaryFolder()
        path = folder.path("store.sqlite")
        let source = try #require(RealFiles.folder) + "/" + name
        for suffix in ["", "-wal", "-shm", "-journal"] where FileManager.default.fileExists(atPath: source + suffix) {
            try FileManager.default.copyItem(atPath: source + suffix, toPath: path + suffix)
        }
    }

    func contents() throws -> [String: Data] { try folder.contents() }

    /// The rows of a query as text, read with plain SQLite from another copy.
    private func rows(_ sql: String) throws -> [[String]] {
        let other = try TemporaryFolder()
        let copy = other.path("store.sqlite")
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        var database: OpaquePointer?
        try #require(sqlite3_open(copy, &database) == SQLITE_OK)
        defer { sqlite3_close_v2(database) }
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        var result: [[String]] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            result.append(
                (0..<sqlite3_column_count(statement)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
                }
            )
        }
        return result
    }

    func number(_ sql: String) throws -> Int {
        let text = try #require(try rows(sql).first?.first)
        return try #require(Int(text))
    }

    /// The tables of the entities without a parent.
    func roots() throws -> [(table: String, entity: String)] {
        try rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_SUPER = 0 AND Z_ENT < 16000").map { row in
            ("\"Z\(row[0].uppercased())\"", row[0])
        }
    }
}
