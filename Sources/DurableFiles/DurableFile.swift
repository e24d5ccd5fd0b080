import Foundation

/// Files that are on the disk, under their names, when they are said to be.
package enum DurableFile {
    /// The folder that a path stands in.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Waits until the contents of a file that nobody has open are on the disk.
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

    /// Makes a file of these bytes and brings it to the disk, but not its name; what is at the path is removed first.
    ///
    /// - Parameter status: whose permissions and owner the file gets; those of a private file without it.
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

    /// Makes a file of what `fill` writes, as ``create(_:_:like:)`` does of bytes.
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
        // What a process left when it died.
        unlink(path)
        let file = try OpenFile(newAt: path)
        if let status {
            // Another owner can be kept by the superuser only, and a file without its permissions would not be read.
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

    /// A name beside a file that nobody else takes: for drafts of files that several may replace at a time.
    package static func ownDraft(of path: String) -> String { "\(path).\(UUID().uuidString).new" }

    /// Puts a file of these bytes in the place of whatever is at the path: there is one of them, whole, at any instant, and the
    /// new one lasts when this returns.
    ///
    /// - Parameters:
    ///   - draft: the name under which it is written first, in the same folder. One that is always the same is written over after
    ///     a crash, and takes a lock.
    ///   - status: whose permissions and owner the file gets; those of a private file without it.
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

    /// Puts a file of what `fill` writes in the place of whatever is at the path, as ``replace(_:_:draft:like:)`` does of bytes.
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

    /// Gives a file or folder another name in its folder, in the place of whatever has that, for good.
    package static func move(_ source: String, to path: String) throws(FileFailure) {
        guard rename(source, path) == 0 else { throw FileFailure(.replace, path) }
        try synchronizeFolder(of: path)
    }

    /// Gives a draft its name, without ever taking anybody else's. The name lasts after ``synchronizeFolder(of:)``.
    ///
    /// - Returns: false when something has the name already.
    package static func publish(_ draft: String, as path: String) throws(FileFailure) -> Bool {
        if link(draft, path) == 0 { return true }
        if errno == EEXIST { return false }
        guard errno == EPERM || errno == ENOTSUP || errno == EOPNOTSUPP else { throw FileFailure(.replace, path) }
        // A file system without links: take the name first, so that nobody's file is replaced.
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
    /// - Returns: false where the file system cannot do so, and nothing has happened.
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

    #if !canImport(Darwin)
    private typealias Rename =
        @convention(c) (
            Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
        ) -> Int32

    /// `RENAME_EXCHANGE`.
    private static let exchangeFlag: UInt32 = 2
    /// The C library declares it on request only, and older ones do not have it.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
    #endif
}
