import Foundation
import HabitStore

/// An engine's database file: read transactions on snapshots, and one write transaction at a time.
///
/// Several instances for one file share its connections. Each is closed separately, and the last one empties the log.
final class SQLiteDatabase: Sendable {
    /// The path through which the file was first opened, with symbolic links resolved.
    var path: String { file.path }
    /// Whether write transactions are possible.
    var isWritable: Bool { file.isWritable }

    private let file: SQLiteSharedFile
    private let usage = SQLiteUsage()

    /// Opens the file.
    ///
    /// - Parameter options: applies to the first opening in this process; later ones of the same file share the first one's
    ///   options.
    /// - Parameter validate: examines the contents of a file that is not empty before anything is changed, and may throw.
    init(
        path: String,
        mode: SQLiteOpenMode,
        options: SQLiteOptions = SQLiteOptions(),
        validate: ((SQLiteConnection) throws -> Void)? = nil
    ) throws {
        file = try SQLiteRegistry.shared.open(path: path, mode: mode, options: options, validate: validate)
    }

    deinit {
        // No caller can receive an error here. Whatever a failed checkpoint did not copy is still in the log, where the next
        // opening reads it.
        if usage.close() == .last { _ = try? SQLiteRegistry.shared.close(file) }
    }

    /// Closes this use of the file, and with the last use the file itself. New transactions throw `.closed` immediately. Those in
    /// progress continue, and the last of them closes the file instead of this call.
    ///
    /// Throws if emptying the log failed. The store is closed even then, and is complete together with its log.
    func close() throws {
        if usage.close() == .last { try SQLiteRegistry.shared.close(file) }
    }

    /// Runs `body` on a snapshot, which concurrent writes do not change. `body` must not keep the connection.
    func withRead<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        try using { try $0.withRead(body) }
    }

    /// Runs `body` in the only write transaction, which is durable when this method returns and has no effect if it throws, except
    /// for `.outcomeUnknown`. `body` must not keep the connection.
    func withWrite<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        try using { try withWrite(until: $0.writeDeadline, body) }
    }

    /// The same, waiting for other writers until a deadline.
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

    /// Runs `body` as one use, during which the file stays open.
    func using<T>(_ body: (SQLiteSharedFile) throws -> T) throws -> T {
        guard usage.begin() else {
            throw HabitStoreError(
                .closed,
                "the store was closed; open it again",
                at: HabitStoreError.Location(path: file.path)
            )
        }
        // Another caller closed the database without waiting. Whatever a failed checkpoint did not copy is in the log, where the
        // next opening reads it, so it must not make a committed transaction fail.
        defer { if usage.end() == .last { _ = try? SQLiteRegistry.shared.close(file) } }
        return try body(file)
    }
}
