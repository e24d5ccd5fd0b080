import Foundation
import HabitStore
import Testing

@testable import HabitStoreSQLite

/// SQLite's file was looked for when a write began, and not when it was committed: a folder that was put back from a backup while
/// a write's closure ran left an acknowledged write in a file that no path led to. Now both are refused.
@Suite("SQLite's files that are moved while they are open")
struct SQLiteMovedFileTests {
    private let folder: SQLiteWrapperFolder
    private let path: String

    init() throws {
        folder = try SQLiteWrapperFolder()
        try FileManager.default.createDirectory(atPath: folder.file("user"), withIntermediateDirectories: true)
        path = folder.file("user/store.sqlite")
    }

    private func code(_ body: () throws -> Void) -> HabitStoreError.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? HabitStoreError)?.code }
    }

    /// What is at the path now, by a store that is opened anew and can be written to.
    private func namesNow() throws -> [String] {
        let store = try SQLiteHabitStore(path: path)
        defer { store.close() }
        let names = try store.all(HabitTag.self).map(\.name)
        try store.save(HabitTag(name: "new"))
        #expect(try store.check { _ in }.isEmpty)
        return names
    }

    /// A store whose log is empty, so that the file alone is the store.
    private func makeStore() throws -> SQLiteHabitStore {
        let store = try SQLiteHabitStore(path: path)
        try store.save(HabitTag(name: "before"))
        store.close()
        return try SQLiteHabitStore(path: path)
    }

    @Test(arguments: SQLiteFileFate.allCases) func betweenTwoWritesTheNextOneIsRefused(fate: SQLiteFileFate) throws {
        let store = try makeStore()
        try fate.befall(path)
        var hasRun = false
        #expect(code { try store.write { _ in hasRun = true } } == .fileMoved)
        #expect(!hasRun)
        store.close()
        #expect(try namesNow() == (fate == .fileDeleted ? [] : ["before"]))
    }

    @Test(arguments: SQLiteFileFate.allCases) func insideAClosureNothingIsCommitted(fate: SQLiteFileFate) throws {
        let store = try makeStore()
        let found = code {
            try store.write { transaction in
                try transaction.insert(HabitTag(name: "lost"))
                try fate.befall(path)
            }
        }
        #expect(found == .fileMoved)
        store.close()
        #expect(try namesNow() == (fate == .fileDeleted ? [] : ["before"]))
    }

    @Test func aDeletedFolderIsAMovedFile() throws {
        let store = try makeStore()
        try FileManager.default.removeItem(atPath: folder.file("user"))
        #expect(code { try store.save(HabitTag(name: "lost")) } == .fileMoved)
        store.close()
    }
}
