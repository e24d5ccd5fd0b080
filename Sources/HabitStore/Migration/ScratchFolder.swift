import Foundation

/// A folder for copies of a person's records that are gone when the work on them is done: for its owner only.
package enum ScratchFolder {
    /// Runs `body` with the path of a new folder, and removes the folder afterwards.
    ///
    /// - Parameters:
    ///   - directory: where to create the folder.
    ///   - purpose: the beginning of its name.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be created.
    package static func with<R>(in directory: String, for purpose: String, _ body: (String) throws -> R) throws -> R {
        let folder = "\(directory)/\(purpose)-\(UUID().uuidString)"
        try PrivateFolder.make(
            folder,
            isNew: true,
            or: .inputOutput,
            "no folder for the copy can be made here; name another one"
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}
