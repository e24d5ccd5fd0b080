import Foundation

/// What the system has refused to do with a file. Whoever asked makes an error of its own of it, and names the file's kind.
package struct FileFailure: Error, Sendable, CustomStringConvertible {
    /// What was to be done, in the words that follow the name of the file.
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

    /// What was to be done.
    package let step: Step
    /// The system's number for the reason.
    package let number: Int32
    /// The file or folder.
    package let path: String

    package init(_ step: Step, _ path: String, _ number: Int32 = errno) {
        self.step = step
        self.path = path
        self.number = number
    }

    /// Whether somebody else has kept the lock for too long.
    package var isBusy: Bool { step == .lock && number == EWOULDBLOCK }

    /// The system's words for the reason.
    package var reason: String { String(cString: strerror(number)) }

    /// What could not be done, and why: what follows the name of the file.
    package var description: String { "\(step.rawValue): \(reason)" }
}
