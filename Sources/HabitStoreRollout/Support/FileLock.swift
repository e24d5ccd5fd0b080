import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// An advisory lock on a separate file (`flock`), with one holder at a time across processes; the system releases it when its holder dies.
struct FileLock: ~Copyable, Sendable {
    private let file: LockedFile

    /// Waits for the lock.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if it is held for longer than `timeoutSeconds`.
    init(path: String, timeoutSeconds: Double) throws {
        do {
            file = try LockedFile(path, timeoutSeconds: timeoutSeconds)
        } catch {
            throw Self.error(error, timeoutSeconds)
        }
    }

    private static func error(_ failure: FileFailure, _ timeoutSeconds: Double) -> HabitStoreError {
        let (code, message): (HabitStoreError.Code, String) =
            switch (failure.step, failure.number) {
            case (.lock, let number):
                (
                    number == EWOULDBLOCK ? .busy : .inputOutput,
                    "another process has been opening or switching this user's stores for \(timeoutSeconds) s"
                )
            case (_, ENOENT):
                (.notFound, "the user's folder is gone; close the store and open it again to start over")
            case (_, let number):
                (number == EACCES || number == EROFS ? .permissionDenied : .inputOutput, "the lock file \(failure)")
            }
        return HabitStoreError(code, message, at: .init(path: failure.path))
    }
}
