import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreSQLite

/// SQLite's file was looked up when a write began, but not when it committed: if a folder was restored from a backup while a write's closure ran, the
/// acknowledged write was in a file that no path led to. Now both are checked.
@Suite("SQLite's files that are moved while they are open")
struct SQLiteMovedFileTests {
    private let folder: TemporaryFolder
    private let path: String
    private var file: MovedFile<SQLiteHabitStore> { MovedFile(path: path) }

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("user"), withIntermediateDirectories: true)
        path = folder.file("user/store.sqlite")
    }

    @Test(arguments: FileTampering.allCases) func betweenTwoWritesTheNextOneIsRefused(fate: FileTampering) throws {
        let outcome = try file.write(after: fate)
        #expect(outcome.code == .fileMoved)
        #expect(!outcome.hasRun)
        expectUntouched(outcome, fate)
    }

    @Test(arguments: FileTampering.allCases) func insideAClosureNothingIsCommitted(fate: FileTampering) throws {
        let outcome = try file.write(during: fate)
        #expect(outcome.code == .fileMoved)
        #expect(outcome.hasRun)
        expectUntouched(outcome, fate)
    }

    private func expectUntouched(_ outcome: MovedFile<SQLiteHabitStore>.Outcome, _ fate: FileTampering) {
        #expect(outcome.names == (fate == .fileDeleted ? [] : [MovedFile<SQLiteHabitStore>.kept]))
        #expect(outcome.findings.isEmpty)
    }

    @Test func aDeletedFolderIsAMovedFile() throws {
        let store = try file.open()
        try FileManager.default.removeItem(atPath: folder.file("user"))
        #expect(errorCode { try store.save(HabitTag(name: "lost")) } == .fileMoved)
        store.close()
    }

    /// Reads of a file with two names were refused, too.
    @Test(arguments: [true, false]) func aFileWithTwoNamesIsReadAndNotWrittenTo(hasLog: Bool) throws {
        let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
        try store.save(HabitTag(name: "one"))
        if !hasLog { store.close() }
        try #require(link(path, folder.file("other")) == 0)
        if hasLog {
            // A killed process leaves this state.
            let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
            store.close()
            try log.write(to: URL(fileURLWithPath: path + "-wal"))
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let again = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
        #expect(try again.all(HabitTag.self).map(\.name) == ["one"])
        let error = #expect(throws: HabitStoreError.self) { try again.save(HabitTag(name: "two")) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("cp -p \(path) \(path).own && mv \(path).own \(path)") == true)
        again.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
}
