import Foundation
import HabitStore

/// A database file as an engine has it: read transactions over snapshots, and one write transaction at a time.
///
/// Several of these for one file share its connections; each is closed by itself, and the last one empties the log.
final class SQLiteDatabase: Sendable {
    /// The path through which the file was opened first, without symbolic links.
    var path: String { file.path }
    /// Whether write transactions are possible.
    var isWritable: Bool { file.isWritable }

    private let file: SQLiteSharedFile
    private let usage = SQLiteUsage()

    /// Opens the file.
    ///
    /// - Parameter options: for the first opening in this process; later ones of the same file share what the first has
    ///   set.
    /// - Parameter validate: sees the contents of a file that is not empty before anything is changed, and may throw.
    init(
        path: String,
        mode: SQLiteOpenMode,
        options: SQLiteOptions = SQLiteOptions(),
        validate: ((SQLiteConnection) throws -> Void)? = nil
    ) throws {
        file = try SQLiteRegistry.shared.open(path: path, mode: mode, options: options, validate: validate)
    }

    deinit {
        // There is nobody left to tell. What a failed checkpoint did not copy is in the log, from which the next
        // opening reads.
        if usage.close() == .last { _ = try? SQLiteRegistry.shared.close(file) }
    }

    /// Closes this use of the file, and with the last use the file. New transactions throw `.closed` at once; those
    /// that are in progress go on, and the last of them closes the file instead of this call.
    ///
    /// Throws when emptying the log failed; the store is closed even so, and complete together with its log.
    func close() throws {
        if usage.close() == .last { try SQLiteRegistry.shared.close(file) }
    }

    /// Runs `body` over one snapshot, which no concurrent write changes. The connection must not be kept.
    func withRead<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        try using { try $0.withRead(body) }
    }

    /// Runs `body` in the only write transaction: durable when this returns, without effect when it throws, except for
    /// `.outcomeUnknown`. The connection must not be kept.
    func withWrite<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        try using { try withWrite(until: $0.writeDeadline, body) }
    }

    /// The same, with a wait for other writers that ends at a deadline.
    func withWrite<T>(until deadline: Deadline, _ body: (SQLiteConnection) throws -> T) throws -> T {
        try using { file in
            guard file.isWritable else {
                throw HabitStoreError(
                    .permissionDenied,
                    "the store is open for reading only; open it for writing",
                    at: HabitStoreError.Location(path: file.path)
                )
            }
            return try file.withWrite(until: deadline, body)
        }
    }

    /// Runs `body` as one use, in which the file stays open.
    func using<T>(_ body: (SQLiteSharedFile) throws -> T) throws -> T {
        guard usage.begin() else {
            throw HabitStoreError(
                .closed,
                "the store was closed; open it again",
                at: HabitStoreError.Location(path: file.path)
            )
        }
        // Closed meanwhile, by someone who did not wait. What a failed checkpoint did not copy is in the log, from
        // which the next opening reads: it must not make a failure of a transaction that is committed.
        defer { if usage.end() == .last { _ = try? SQLiteRegistry.shared.close(file) } }
        return try body(file)
    }
}
