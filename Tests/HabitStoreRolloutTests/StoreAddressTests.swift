import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreLMDB
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A path names its engine, or is refused with a reason.
struct StoreAddressTests {
    @Test(arguments: EngineName.standard)
    func theKindOfAFileIsRecognised(engine: EngineName) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("some file")
        try StoreAddress(engine, path: path).open(.create, schema: HabitSchema.current).close()
        #expect(try StoreAddress(parsing: path) == StoreAddress(engine, path: path))
        #expect(try StoreAddress(parsing: "\(engine.rawValue):\(path)") == StoreAddress(engine, path: path))
    }

    @Test func whatIsNoStoreIsRefusedWithTheReason() throws {
        let folder = try TemporaryFolder()
        for (name, content) in [("empty", ""), ("short", "SQLite"), ("text", String(repeating: "text ", count: 100))] {
            try Data(content.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            let error = #expect(throws: HabitStoreError.self) { _ = try StoreAddress(parsing: folder.path(name)) }
            #expect(error?.code == .notAStore)
        }
        let directory = #expect(throws: HabitStoreError.self) { _ = try StoreAddress(parsing: folder.path) }
        #expect(directory?.code == .notAStore)
        let missing = #expect(throws: HabitStoreError.self) { _ = try StoreAddress(parsing: folder.path("missing")) }
        #expect(missing?.code == .notFound)
    }

    @Test(arguments: EngineName.standard, [StoreAccess.readOnly, .readWrite])
    func aMissingStoreIsNotMade(engine: EngineName, access: StoreAccess) throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: HabitStoreError.self) {
            _ = try StoreAddress(engine, path: folder.path("missing")).open(access, schema: HabitSchema.current)
        }
        #expect(error?.code == .notFound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    #if DEBUG
    /// LMDB 1.0 replaced 0.9 on a machine, and every LMDB store on it became inaccessible: it could not be copied, verified or even counted. Now it
    /// can be read without the library, but not written to.
    @Test func aStoreThatTheLibraryRefusesIsReadAndNotWritten() throws {
        let folder = try TemporaryFolder()
        let address = StoreAddress(.lmdb, path: folder.path("store"))
        let store = try address.open(.create, schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        try store.save(habit)
        store.close()
        LMDBLibrary.failOpenings(under: folder.path, with: -30793)
        defer { LMDBLibrary.failOpenings(under: folder.path, with: nil) }
        #expect(try StoreAddress(parsing: address.path) == address)
        let rescued = try address.open(.readOnly, schema: HabitSchema.current)
        #expect(rescued is RescuedLMDBStore)
        #expect(try rescued.all(Habit.self) == [habit])
        #expect(try rescued.check { _ in }.isEmpty)
        rescued.close()
        #expect(try address.outline().version == HabitSchema.current.version)
        for access in [StoreAccess.readWrite, .create] {
            let error = #expect(throws: HabitStoreError.self) {
                _ = try address.open(access, schema: HabitSchema.current)
            }
            #expect(error?.code == .engineUnavailable)
        }
    }
    #endif

    @Test func aFileOfLMDB1IsAStoreOfLMDB() throws {
        let folder = try TemporaryFolder()
        var bytes = Data(count: 8_192)
        bytes.replaceSubrange(24..<28, with: withUnsafeBytes(of: UInt32(0xBEEF_C0DE)) { Data($0) })
        bytes[28] = 3
        try bytes.write(to: URL(fileURLWithPath: folder.path("store")))
        let address = try StoreAddress(parsing: folder.path("store"))
        #expect(address.engine == .lmdb)
        let error = #expect(throws: HabitStoreError.self) {
            _ = try address.open(.readOnly, schema: HabitSchema.current)
        }
        #expect(error?.code == .newerVersion)
    }
}
