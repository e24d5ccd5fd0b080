import Foundation
import HabitStore

extension HabitStoreError.Code {
    /// A file that is to be imported is damaged, or not what it has to be.
    public static let invalidSource = Self(rawValue: "invalidSource")
    /// A file that is to be imported is an earlier state of one that was imported already.
    public static let olderSource = Self(rawValue: "olderSource")
    /// A file that is to be imported is of no format that is known.
    public static let unknownFormat = Self(rawValue: "unknownFormat")
}

extension HabitStoreError {
    /// What the system says of a file.
    static func system(_ number: Int32, _ message: String, _ path: String) -> HabitStoreError {
        let code: Code
        switch number {
        case ENOENT, ENOTDIR, ELOOP: code = .notFound
        case EACCES, EPERM, EROFS: code = .permissionDenied
        case ENOSPC, EDQUOT: code = .full
        default: code = .inputOutput
        }
        return HabitStoreError(code, "\(message): \(String(cString: strerror(number)))", at: .init(path: path))
    }
}
