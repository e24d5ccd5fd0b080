import Foundation

/// An operation on a file that the system refused. Callers translate it to their own error and name the kind of file.
package struct FileFailure: Error, Sendable, CustomStringConvertible {
    /// The operation, in words that follow the name of the file.
    package enum Step: String, Sendable {
        case open = "cannot be opened"
        case make = "cannot be made"
        case examine = "cannot be looked at"
        case read = "cannot be read"
        case keepPermissions = "cannot be given its permissions"
        case write = "cannot be written"
        case synchronize = "cannot be brought to the disk"
        case synchronizeFolder = "cannot be brought to the disk with its folder"
        case replace = "cannot be put in its place"
        case remove = "cannot be removed"
        case lock = "cannot be locked"
    }

    /// The operation that failed.
    package let step: Step
    /// The `errno`.
    package let number: Int32
    /// The file or folder.
    package let path: String

    package init(_ step: Step, _ path: String, _ number: Int32 = errno) {
        self.step = step
        self.path = path
        self.number = number
    }

    /// Whether the lock was held by another user for too long.
    package var isBusy: Bool { step == .lock && number == EWOULDBLOCK }

    /// The system's message for the `errno`.
    package var reason: String { String(cString: strerror(number)) }

    /// What failed and why, in words that follow the name of the file.
    package var description: String { "\(step.rawValue): \(reason)" }
}
