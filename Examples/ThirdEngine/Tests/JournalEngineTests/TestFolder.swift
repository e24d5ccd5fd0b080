import Foundation

/// A folder that is gone when its test is.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "journal-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
