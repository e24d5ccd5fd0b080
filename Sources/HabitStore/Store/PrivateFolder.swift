import Foundation

/// Folders of a person's records: for their owner only.
package enum PrivateFolder {
    /// Makes a folder.
    ///
    /// - Parameters:
    ///   - path: where.
    ///   - isNew: whether there must be none yet, and the folder above it must be there. Else all that are missing are made.
    ///   - code: what it is when the folder cannot be made.
    ///   - message: says so, and what to do.
    /// - Throws: a ``HabitStoreError`` with that code and message, and the system's error below it.
    package static func make(
        _ path: String,
        isNew: Bool = false,
        or code: HabitStoreError.Code,
        _ message: String
    ) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: !isNew,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw HabitStoreError(code, message, at: .init(path: path), underlying: error)
        }
    }
}
