import Foundation

/// A folder that is gone when its user is.
package final class TemporaryFolder: Sendable {
    /// The folder.
    package let url: URL

    /// Makes it.
    package init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("rollout-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The folder's path.
    package var path: String { url.path }

    /// The path of something in it.
    package func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
