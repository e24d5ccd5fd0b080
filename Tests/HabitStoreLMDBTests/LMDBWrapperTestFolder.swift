import Foundation
import Testing

@testable import HabitStoreLMDB

/// A folder that is deleted with this object.
final class LMDBWrapperTestFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Opens the folder's store, with a database for records.
    func openRecords(mapSizeBytes: Int = 64 << 20) throws -> (LMDBEnvironment, LMDBDatabase) {
        let options = LMDBWrapperTestSample.options(mapSizeBytes: mapSizeBytes)
        let environment = try LMDBEnvironment.open(path: path(), options: options)
        return (environment, try #require(try environment.openDatabases(names: ["records"], create: true).first))
    }

    func path(_ name: String = "store.lmdb") -> String { url.appendingPathComponent(name).path }
}
