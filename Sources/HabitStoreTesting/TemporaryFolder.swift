import Foundation

/// A folder that is removed with the object.
package final class TemporaryFolder: Sendable {
    package let url: URL

    /// Creates the folder.
    ///
    /// - Parameter name: the beginning of its name.
    package init(_ name: String = "test") throws {
        let parent = FileManager.default.temporaryDirectory
        let real = realpath(parent.path, nil)
        defer { free(real) }
        url = (real.map { URL(fileURLWithPath: String(cString: $0)) } ?? parent).appendingPathComponent(
            "\(name)-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        // A test may have made it read-only.
        try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: url.path)
        try? FileManager.default.removeItem(at: url)
    }

    package var path: String { url.path }

    /// The path of an item in it.
    package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// The names of all items, sorted; hidden ones too.
    package func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    /// The files in it, and their bytes.
    package func contents() throws -> [String: Data] {
        try names().reduce(into: [:]) { $0[$1] = try Data(contentsOf: url.appendingPathComponent($1)) }
    }

    /// Writes a file, and creates the folders above it.
    ///
    /// - Returns: its path.
    @discardableResult
    package func write(_ name: String, _ data: Data) throws -> String {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
        return file.path
    }

    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String { try write(name, Data(text.utf8)) }
}
