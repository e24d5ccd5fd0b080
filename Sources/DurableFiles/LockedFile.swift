import Foundation

/// A file or folder that is locked as long as this value lives. Lock a folder if its files are replaced: those cannot carry a lock,
/// and a lock file would stay behind.
package struct LockedFile: ~Copyable, Sendable {
    private let file: OpenFile

    /// Locks a file, which is created if it is missing.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package init(_ path: String, timeoutSeconds: Double) throws(FileFailure) {
        file = try Self.locked(try OpenFile(path, O_RDWR | O_CREAT), timeoutSeconds)
    }

    /// Locks a folder.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package init(folder path: String, timeoutSeconds: Double) throws(FileFailure) {
        file = try Self.locked(try OpenFile(folder: path), timeoutSeconds)
    }

    private static func locked(
        _ file: consuming OpenFile,
        _ timeoutSeconds: Double
    ) throws(FileFailure) -> OpenFile {
        try AdvisoryLock.exclusive.take(file.descriptor, path: file.path, timeoutSeconds: timeoutSeconds)
        return file
    }
}
