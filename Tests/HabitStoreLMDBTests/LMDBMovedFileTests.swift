import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

/// A user's folder was restored from a backup while the app was running. LMDB continued with the open file, which no path led to any more: every
/// write was acknowledged, and all of them were gone at the app's next start. Now a write to a file that is not at its path is refused, before the
/// closure runs and once more before the commit.
@Suite("LMDB's files that are moved while they are open")
struct LMDBMovedFileTests {
    private let folder: TemporaryFolder
    private let path: String
    private var file: MovedFile<LMDBHabitStore> { MovedFile(path: path) }

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("user"), withIntermediateDirectories: true)
        path = folder.path("user/store.lmdb")
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

    private func expectUntouched(_ outcome: MovedFile<LMDBHabitStore>.Outcome, _ fate: FileTampering) {
        #expect(outcome.names == (fate == .fileDeleted ? [] : [MovedFile<LMDBHabitStore>.kept]))
        #expect(outcome.findings.isEmpty)
    }

    /// Earlier data can still be read.
    @Test(arguments: FileTampering.allCases) func aReadGoesOnWithWhatWasOpen(fate: FileTampering) throws {
        let store = try file.open()
        defer { store.close() }
        try fate.befall(path)
        #expect(errorCode { try store.replicate { _ in } } == .fileMoved)
        #expect(try store.all(HabitTag.self).map(\.name) == [MovedFile<LMDBHabitStore>.kept])
    }

    @Test func aFileThatComesBackIsWrittenTo() throws {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        #expect(errorCode { try store.save(HabitTag(name: "lost")) } == .fileMoved)
        try FileManager.default.moveItem(atPath: path + "-away", toPath: path)
        try store.save(HabitTag(name: "kept"))
        #expect(try store.all(HabitTag.self).map(\.name) == ["kept"])
        store.close()
    }
}
