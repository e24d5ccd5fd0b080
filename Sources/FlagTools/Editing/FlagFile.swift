import DurableFiles
import FeatureFlags
import Foundation

/// Reads flag files and replaces them atomically.
public enum FlagFile {
    /// Reads a file's text.
    ///
    /// - Throws: A ``FlagError`` if the file cannot be read or parsed.
    public static func read(path: String) throws(FlagError) -> FlagFileText {
        try FlagFileText(bytes: FlagFileReader.read(path: path), format: FlagFormat(path: path), source: path)
    }

    /// Changes a file: locks its folder, writes and syncs a new file next to it, renames that over the old one, and syncs the folder. Readers see
    /// either the old text or the new one. The permissions stay, and if the path is a link, its target is changed. An unchanged text is not written.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - timeoutSeconds: How long to wait for the lock.
    ///   - change: Returns the new text.
    /// - Returns: The text before and after.
    /// - Throws: The error of `change`, or a ``FlagError`` if the file cannot be read, parsed or written; the file is then unchanged, unless the
    ///   error says otherwise.
    @discardableResult
    public static func update(
        path: String,
        timeoutSeconds: Double = 10,
        _ change: (FlagFileText) throws(FlagError) -> FlagFileText
    ) throws(FlagError) -> (old: FlagFileText, new: FlagFileText) {
        let target = try Self.target(of: path)
        let lock = try lock(DurableFile.folder(of: target), timeoutSeconds)
        // Hold the lock until the file is replaced.
        defer { withExtendedLifetime(lock) {} }
        let old = try read(path: path)
        let new = try change(old)
        if new.bytes != old.bytes { try replace(target, with: new.bytes) }
        return (old, new)
    }

    private static func lock(_ folder: String, _ timeoutSeconds: Double) throws(FlagError) -> LockedFile {
        do {
            return try LockedFile(folder: folder, timeoutSeconds: timeoutSeconds)
        } catch {
            guard error.isBusy else { throw FlagError(error, "the folder of the flag file \(error)") }
            throw FlagError(
                .fileBusy,
                "another process has been changing flag files in this folder for \(timeoutSeconds) s; try again",
                at: FlagError.Location(file: folder)
            )
        }
    }

    private static func replace(_ file: String, with bytes: [UInt8]) throws(FlagError) {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        let folder = DurableFile.folder(of: file)
        // Always the same name, so that a draft left by a crash is overwritten.
        let draft = (folder == "/" ? "" : folder) + "/.\(name).new"
        var status = stat()
        let isThere = stat(file, &status) == 0
        do {
            try DurableFile.replace(file, bytes, draft: draft, like: isThere ? status : nil)
        } catch {
            switch error.step {
            case .make: throw FlagError(error, "cannot create a file next to the flag file: \(error.reason)")
            case .synchronizeFolder:
                throw FlagError(error, "the flag file was replaced, but a power failure may undo it: \(error.reason)")
            default: throw FlagError(error, "the new flag file \(error)")
            }
        }
    }

    private static func target(of path: String) throws(FlagError) -> String {
        guard !path.utf8.contains(0), let resolved = realpath(path, nil) else {
            // Reading it reports the error.
            _ = try FlagFileReader.read(path: path)
            throw FlagError(.fileUnreadable, "the flag file cannot be found", at: FlagError.Location(file: path))
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
