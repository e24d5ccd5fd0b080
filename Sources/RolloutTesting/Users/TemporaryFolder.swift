import Foundation

/// A folder that is removed with the object.
package final class TemporaryFolder: Sendable {
    package let url: URL

    /// Creates the folder.
    package init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("rollout-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package var path: String { url.path }

    /// The path of an item in it.
    package func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
