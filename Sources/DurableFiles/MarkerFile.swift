import Foundation

/// Files whose existence is what they say. Their text is for people, and may be missing.
package enum MarkerFile {
    /// Makes the file, for its owner only, and brings it to the disk. One that is there already, whatever it is, is as good.
    ///
    /// - Returns: whether the file is new.
    /// - Throws: a failure to make it; one of any other step says that it is there, and that a power cut may take it away.
    package static func make(_ path: String, _ text: String) throws(FileFailure) -> Bool {
        do {
            let file = try OpenFile(newAt: path)
            // Without space for the text there is still the file.
            _ = Array(text.utf8).withUnsafeBytes { OpenFile.write($0, to: file.descriptor) }
            try file.synchronize()
        } catch {
            if error.step == .make, error.number == EEXIST { return false }
            throw error
        }
        try DurableFile.synchronizeFolder(of: path)
        return true
    }

    /// Removes what is at the path, and brings that to the disk. A folder is removed when it is empty.
    ///
    /// - Returns: whether there was anything.
    /// - Throws: a failure to remove it; one of any other step says that it is gone, and that a power cut may bring it back.
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
