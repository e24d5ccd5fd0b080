import DurableFiles
import Foundation
import HabitStore

/// A file with a secret in it, which is for its owner alone.
package enum SecretFile {
    /// The bytes of the file, one more than `limit` where there are more. A pipe is not waited for.
    ///
    /// - Parameter name: the file in words, for errors.
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that is another person's; what
    ///   the system refuses.
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
