import Foundation

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
}
