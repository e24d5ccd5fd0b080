import Foundation

/// Flag files on the disk: read, and replaced in one step.
public enum FlagFile {
    /// Reads a file's text.
    ///
    /// - Throws: A ``FlagError`` for a file that cannot be read or parsed.
    public static func read(path: String) throws(FlagError) -> FlagFileText {
        try FlagFileText(bytes: FlagFileReader.read(path: path), format: FlagFormat(path: path), source: path)
    }

    /// Changes a file: under a lock on its folder, with a new file that is written and synced beside it, renamed over
    /// it, and the folder synced. Whoever reads the file sees the old text or the new one. Its permissions stay, and
    /// where the path is a link, the file that it leads to is the one that is changed. A text that is not changed is
    /// not written.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - timeoutSeconds: How long the lock is waited for.
    ///   - change: Makes the new text of the old one.
    /// - Returns: The text before and after.
    /// - Throws: What `change` throws, and a ``FlagError`` for a file that cannot be read, parsed or written; the file
    ///   is then as it was, unless the error says otherwise.
    @discardableResult
    public static func update(
        path: String,
        timeoutSeconds: Double = 10,
        _ change: (FlagFileText) throws(FlagError) -> FlagFileText
    ) throws(FlagError) -> (old: FlagFileText, new: FlagFileText) {
        let target = try Self.target(of: path)
        let folder = try LockedFolder(path: Self.folder(of: target), timeoutSeconds: timeoutSeconds)
        let old = try read(path: path)
        let new = try change(old)
        if new.bytes != old.bytes { try folder.replace(target, with: new.bytes) }
        return (old, new)
    }

    /// The folder that a path stands in.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func target(of path: String) throws(FlagError) -> String {
        guard !path.utf8.contains(0), let resolved = realpath(path, nil) else {
            // Reading it says what is wrong with it.
            _ = try FlagFileReader.read(path: path)
            throw FlagError(.fileUnreadable, "the flag file cannot be found", at: FlagError.Location(file: path))
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
