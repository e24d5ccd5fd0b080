import Foundation

extension SentinelFile {
    /// Makes the file, for its owner only, and brings it to the disk: who looks for it need not open it. One that is there already, whatever it is, is as good.
    ///
    /// - Returns: Whether the file is new.
    /// - Throws: A ``FlagError`` where it cannot be made.
    @discardableResult
    public func create() throws(FlagError) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = errno
            check()
            if reason == EEXIST { return false }
            throw error("the sentinel file cannot be made", reason)
        }
        // The existence is the signal; without space for the text there is still that.
        let text = Array("The kill switch is pulled while this file exists.\n".utf8)
        _ = write(descriptor, text, text.count)
        fsync(descriptor)
        close(descriptor)
        syncFolder()
        check()
        return true
    }

    /// Removes what is at the path, and brings that to the disk. A folder is removed when it is empty.
    ///
    /// - Returns: Whether there was anything.
    /// - Throws: A ``FlagError`` where it cannot be removed.
    @discardableResult
    public func remove() throws(FlagError) -> Bool {
        defer { check() }
        if unlink(path) != 0 {
            let reason = errno
            if reason == ENOENT || reason == ENOTDIR { return false }
            guard reason == EISDIR || reason == EPERM, rmdir(path) == 0 else {
                throw error("the sentinel file cannot be removed", reason)
            }
        }
        syncFolder()
        return true
    }

    private func syncFolder() {
        let folder = open(FlagFile.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private func error(_ message: String, _ number: Int32) -> FlagError {
        FlagError(
            .fileUnwritable,
            "\(message): \(String(cString: strerror(number)))",
            at: FlagError.Location(file: path)
        )
    }
}
