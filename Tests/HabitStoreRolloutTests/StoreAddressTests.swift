import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// A path says which engine it needs, or why it cannot.
struct StoreAddressTests {
    @Test(arguments: EngineName.allCases)
    func theKindOfAFileIsRecognised(engine: EngineName) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("some file")
        try StoreAddress(engine, path: path).open(.create).close()
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

    @Test(arguments: EngineName.allCases, [StoreAccess.readOnly, .readWrite])
    func aMissingStoreIsNotMade(engine: EngineName, access: StoreAccess) throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: HabitStoreError.self) {
            _ = try StoreAddress(engine, path: folder.path("missing")).open(access)
        }
        #expect(error?.code == .notFound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
