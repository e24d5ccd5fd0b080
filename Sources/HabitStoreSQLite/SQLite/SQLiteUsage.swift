import Foundation

/// Counts the transactions in progress on an open database, so that the file is closed after the last of them.
///
/// `@unchecked`: `lock` guards both variables.
final class SQLiteUsage: @unchecked Sendable {
    /// Whether this call ended the last use. Only one call returns `last`.
    enum Ending {
        case last
        case notLast
    }

    private let lock = NSLock()
    private var isClosed = false
    private var active = 0

    /// Begins a use; false after closing.
    func begin() -> Bool {
        lock.withLock {
            guard !isClosed else { return false }
            active += 1
            return true
        }
    }

    /// Ends a use.
    func end() -> Ending {
        lock.withLock {
            active -= 1
            return isClosed && active == 0 ? .last : .notLast
        }
    }

    /// Prevents further uses.
    func close() -> Ending {
        lock.withLock {
            guard !isClosed else { return .notLast }
            isClosed = true
            return active == 0 ? .last : .notLast
        }
    }
}
