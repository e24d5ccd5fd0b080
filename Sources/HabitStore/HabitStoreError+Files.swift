import DurableFiles
import Foundation

extension HabitStoreError {
    /// The error of a system call on a file.
    package static func system(_ number: Int32, _ message: String, _ path: String) -> HabitStoreError {
        let code: Code
        switch number {
        case ENOENT, ENOTDIR, ELOOP: code = .notFound
        case EACCES, EPERM, EROFS: code = .permissionDenied
        case ENOSPC, EDQUOT: code = .full
        default: code = .inputOutput
        }
        return HabitStoreError(code, "\(message): \(String(cString: strerror(number)))", at: .init(path: path))
    }

    /// The error of a failed operation on a file, which the message calls `name`.
    package static func system(_ failure: FileFailure, _ name: String = "the file") -> HabitStoreError {
        system(failure.number, "\(name) \(failure.step.rawValue)", failure.path)
    }
}

extension FileFailure {
    /// What `body` gives; what the system refuses is a ``HabitStoreError``.
    package static func told<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure)
        }
    }
}
