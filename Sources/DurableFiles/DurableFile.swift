import Foundation

/// Durable file operations: when they return, files and their names are on the disk unless stated otherwise.
package enum DurableFile {
    /// The folder that contains a path.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Waits until the contents of a file are on the disk. No process may have it open.
    package static func synchronize(_ path: String) throws(FileFailure) {
        try OpenFile(path, O_RDONLY).synchronize()
    }

    /// Makes a created, renamed or removed name in the folder of a path survive a power cut.
    package static func synchronizeFolder(of path: String) throws(FileFailure) {
        do {
            try OpenFile(folder: folder(of: path)).synchronizeNames()
        } catch {
            throw FileFailure(.synchronizeFolder, path, error.number)
        }
    }

    // MARK: Making

    /// Creates a file with these bytes and brings its contents to the disk, but not its name. Removes what is at the path first.
    ///
    /// - Parameter status: the source of the file's permissions and owner; without it, the file is private.
    package static func create(
        _ path: String,
        _ bytes: some ContiguousBytes,
        like status: stat? = nil
    ) throws(FileFailure) {
        let file = try begin(path, like: status)
        do throws(FileFailure) {
            try file.write(bytes)
            try file.synchronize()
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Creates a file from what `fill` writes, like ``create(_:_:like:)``.
    package static func create(_ path: String, _ fill: (borrowing OpenFile) throws -> Void) throws {
        let file = try begin(path, like: nil)
        do {
            try fill(file)
            try file.synchronize()
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func begin(_ path: String, like status: stat?) throws(FileFailure) -> OpenFile {
        // Left by a dead process.
        unlink(path)
        let file = try OpenFile(newAt: path)
        if let status {
            // Only the superuser can keep another owner, and a file without its permissions might not be readable.
            _ = fchown(file.descriptor, status.st_uid, status.st_gid)
            guard fchmod(file.descriptor, status.st_mode & 0o7777) == 0 else {
                let failure = FileFailure(.keepPermissions, path)
                unlink(path)
                throw failure
            }
        }
        return file
    }

    // MARK: Replacing

    /// A unique name next to a file, for drafts of files that several callers may replace at the same time.
    package static func ownDraft(of path: String) -> String { "\(path).\(UUID().uuidString).new" }

    /// Replaces whatever is at the path with a file of these bytes: at any instant there is one complete file, and the new one is
    /// durable when this returns.
    ///
    /// - Parameters:
    ///   - draft: the name under which the file is first written, in the same folder. A constant name is overwritten after a crash,
    ///     but requires a lock.
    ///   - status: the source of the file's permissions and owner; without it, the file is private.
    package static func replace(
        _ path: String,
        _ bytes: some ContiguousBytes,
        draft: String? = nil,
        like status: stat? = nil
    ) throws(FileFailure) {
        let draft = draft ?? path + ".new"
        try create(draft, bytes, like: status)
        try take(draft, to: path)
    }

    /// Replaces whatever is at the path with a file of what `fill` writes, like ``replace(_:_:draft:like:)``.
    package static func replace(_ path: String, _ fill: (borrowing OpenFile) throws -> Void) throws {
        let draft = path + ".new"
        try create(draft, fill)
        try take(draft, to: path)
    }

    private static func take(_ draft: String, to path: String) throws(FileFailure) {
        do {
            try move(draft, to: path)
        } catch {
            if error.step == .replace { unlink(draft) }
            throw error
        }
    }

    /// Durably renames a file or folder within its folder, and replaces whatever has that name.
    package static func move(_ source: String, to path: String) throws(FileFailure) {
        guard rename(source, path) == 0 else { throw FileFailure(.replace, path) }
        try synchronizeFolder(of: path)
    }

    /// Gives a draft its final name, but never replaces another file. The name is durable after ``synchronizeFolder(of:)``.
    ///
    /// - Returns: false if the name is taken.
    package static func publish(_ draft: String, as path: String) throws(FileFailure) -> Bool {
        if link(draft, path) == 0 { return true }
        if errno == EEXIST { return false }
        guard errno == EPERM || errno == ENOTSUP || errno == EOPNOTSUPP else { throw FileFailure(.replace, path) }
        // A file system without links: reserve the name first, so that no existing file is replaced.
        do {
            _ = try OpenFile(newAt: path)
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
        guard rename(draft, path) == 0 else {
            let failure = FileFailure(.replace, path)
            unlink(path)
            throw failure
        }
        return true
    }

    /// Exchanges two files in one step.
    ///
    /// - Returns: false if the file system does not support it; nothing has changed then.
    package static func exchange(_ one: String, _ other: String) throws(FileFailure) -> Bool {
        #if canImport(Darwin)
        let result = renamex_np(one, other, UInt32(RENAME_SWAP))
        #else
        guard let renameat2 else { return false }
        let result = renameat2(AT_FDCWD, one, AT_FDCWD, other, exchangeFlag)
        #endif
        if result == 0 { return true }
        guard [EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(errno) else { throw FileFailure(.replace, other) }
        return false
    }

    // MARK: Removing

    /// Removes what is at the path, durably. A folder is only removed if it is empty.
    ///
    /// - Returns: whether there was anything.
    /// - Throws: a failure to remove it. After a failure of any other step it is gone, but a power cut may restore it.
    package static func remove(_ path: String) throws(FileFailure) -> Bool {
        if unlink(path) != 0 {
            let failure = FileFailure(.remove, path)
            if failure.number == ENOENT || failure.number == ENOTDIR { return false }
            guard failure.number == EISDIR || failure.number == EPERM, rmdir(path) == 0 else { throw failure }
        }
        try DurableFile.synchronizeFolder(of: path)
        return true
    }

    #if !canImport(Darwin)
    private typealias Rename =
        @convention(c) (
            Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
        ) -> Int32

    /// `RENAME_EXCHANGE`.
    private static let exchangeFlag: UInt32 = 2
    /// The C library declares it only on request, and older ones do not have it.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
    #endif
}

/// Copies the bytes of a file into one that only its owner can read. Holes that the file system reports remain holes in the copy,
/// so that a long but sparse file is copied as fast as its contents.
package enum FileCopy {
    /// - Throws: a ``FileFailure`` with the path of the file that could not be read or written.
    package static func copy(_ source: String, to target: String) throws {
        let input = try OpenFile(source, O_RDONLY)
        let output = try OpenFile(target, O_RDWR | O_CREAT | O_TRUNC)
        try input.forEachChunk(skipsHoles: true) { bytes, position in
            try output.write(bytes, at: position)
            return true
        }
        try output.truncate(to: try input.status().st_size)
    }

    /// Whether every byte of a file from an offset on is 0.
    package static func isZero(_ path: String, from start: off_t) throws -> Bool {
        var isZero = true
        try OpenFile(path, O_RDONLY).forEachChunk(in: start..<off_t.max, skipsHoles: true) { bytes, _ in
            isZero = bytes.allSatisfy { $0 == 0 }
            return isZero
        }
        return isZero
    }
}

/// Files whose existence is their message. Their text is for people, and may be missing.
package enum MarkerFile {
    /// Creates the file, for its owner only, and brings it to the disk. Anything that is already at the path is as good.
    ///
    /// - Returns: whether the file is new.
    /// - Throws: a failure to create it. After a failure of any other step the file exists, but a power cut may remove it.
    package static func make(_ path: String, _ text: String) throws(FileFailure) -> Bool {
        do {
            let file = try OpenFile(newAt: path)
            // Without space for the text, the file still exists.
            _ = Array(text.utf8).withUnsafeBytes { OpenFile.write($0, to: file.descriptor) }
            try file.synchronize()
        } catch {
            if error.step == .make, error.number == EEXIST { return false }
            throw error
        }
        try DurableFile.synchronizeFolder(of: path)
        return true
    }
}
