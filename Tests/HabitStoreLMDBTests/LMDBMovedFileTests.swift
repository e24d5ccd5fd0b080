import Foundation
import HabitStore
import Testing

@testable import HabitStoreLMDB

/// A person put a user's folder back from a backup while the app was running. LMDB went on with the file that it had open, which
/// no path led to any more: every write was acknowledged, and all of them were gone when the app was started next. Now a write
/// to a file that is not at its path is refused, before the closure runs and once more before the commit.
@Suite("LMDB's files that are moved while they are open")
struct LMDBMovedFileTests {
    private let folder: LMDBWrapperTestFolder
    private let path: String

    init() throws {
        folder = try LMDBWrapperTestFolder()
        try FileManager.default.createDirectory(atPath: folder.path("user"), withIntermediateDirectories: true)
        path = folder.path("user/store.lmdb")
    }

    private func code(_ body: () throws -> Void) -> HabitStoreError.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? HabitStoreError)?.code }
    }

    /// What is at the path now, by a store that is opened anew and can be written to.
    private func namesNow() throws -> [String] {
        let store = try LMDBHabitStore(path: path)
        defer { store.close() }
        let names = try store.all(HabitTag.self).map(\.name)
        try store.save(HabitTag(name: "new"))
        #expect(try store.check { _ in }.isEmpty)
        return names
    }

    @Test(arguments: LMDBFileFate.allCases) func betweenTwoWritesTheNextOneIsRefused(fate: LMDBFileFate) throws {
        let store = try LMDBHabitStore(path: path)
        try store.save(HabitTag(name: "before"))
        try fate.befall(path)
        var hasRun = false
        #expect(code { try store.write { _ in hasRun = true } } == .fileMoved)
        #expect(!hasRun)
        #expect(code { try store.replicate { _ in hasRun = true } } == .fileMoved)
        #expect(!hasRun)
        // What was read before can be read on.
        #expect(try store.all(HabitTag.self).map(\.name) == ["before"])
        store.close()
        #expect(try namesNow() == (fate == .fileDeleted ? [] : ["before"]))
    }

    @Test(arguments: LMDBFileFate.allCases) func insideAClosureNothingIsCommitted(fate: LMDBFileFate) throws {
        let store = try LMDBHabitStore(path: path)
        try store.save(HabitTag(name: "before"))
        let found = code {
            try store.write { transaction in
                try transaction.insert(HabitTag(name: "lost"))
                try fate.befall(path)
            }
        }
        #expect(found == .fileMoved)
        #expect(try store.all(HabitTag.self).map(\.name) == ["before"])
        store.close()
        #expect(try namesNow() == (fate == .fileDeleted ? [] : ["before"]))
    }

    @Test func aFileThatComesBackIsWrittenTo() throws {
        let store = try LMDBHabitStore(path: path)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        #expect(code { try store.save(HabitTag(name: "lost")) } == .fileMoved)
        try FileManager.default.moveItem(atPath: path + "-away", toPath: path)
        try store.save(HabitTag(name: "kept"))
        #expect(try store.all(HabitTag.self).map(\.name) == ["kept"])
        store.close()
    }
}
