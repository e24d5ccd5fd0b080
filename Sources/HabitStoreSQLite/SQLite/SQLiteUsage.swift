import Foundation

/// Counts the transactions in progress of one open database, so that closing it waits for the last of them.
///
/// `@unchecked`: both variables are guarded by `lock`.
final class SQLiteUsage: @unchecked Sendable {
    /// Whether this call was the one after which nothing is in use any more. It is given once.
    enum Ending {
        case last
        case notLast
    }

    private let lock = NSLock()
    private var isClosed = false
    private var active = 0

    /// Begins a use; false when closed.
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

    /// Allows no further use.
    func close() -> Ending {
        lock.withLock {
            guard !isClosed else { return .notLast }
            isClosed = true
            return active == 0 ? .last : .notLast
        }
    }
}
