import DurableFiles
import Foundation
import HabitStore

/// A file with a secret, readable by its owner only.
package enum SecretFile {
    /// The bytes of the file, or `limit` and one more if it is longer. Does not block on a pipe.
    ///
    /// - Parameter name: what errors call the file.
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that another user owns; system errors.
    package static func bytes(_ path: String, _ name: String, limit: Int) throws -> Data {
        do {
            let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(.inputOutput, "\(name) is not a file", at: .init(path: path))
            }
            guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
                throw HabitStoreError(
                    .permissionDenied,
                    "\(name) is not for its owner alone: make it yours, and `chmod 600` it",
                    at: .init(path: path)
                )
            }
            return try file.contents(limit: limit + 1)
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure, name)
        }
    }
}
