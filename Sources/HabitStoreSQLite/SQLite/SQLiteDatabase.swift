import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An engine's database file: read transactions on snapshots, and one write transaction at a time.
///
/// Several instances for one file share its connections. Each is closed separately, and the last one empties the log.
final class SQLiteDatabase: Sendable {
    /// The path through which the file was first opened, with symbolic links resolved.
    var path: String { file.path }
    /// Whether write transactions are possible.
    var isWritable: Bool { file.isWritable }

    /// Whether the log has a commit that SQLite does not read and that may have been acknowledged, so that nothing should be written unasked.
    var sparesLog: Bool { file.sparesLog }

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

extension SQLiteDatabase {
    /// The problems that SQLite finds in its file, at most 100 lines; empty if there are none.
    ///
    /// - Parameter quick: whether to skip comparing indexes with tables, which is most of the work.
    func integrityCheck(quick: Bool) throws -> [String] {
        try withRead { connection in
            let lines = try connection.texts(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
            // The whole file has passed through this connection's page cache, which is useless there.
            try connection.exec("PRAGMA shrink_memory")
            return lines == ["ok"] ? [] : lines
        }
    }

    /// Copies the log into the database and empties it; false if readers are in the way.
    func checkpoint() throws -> Bool { try using { try $0.checkpoint() } }

    /// Why the last checkpoint after a commit failed; nil if it succeeded. A failure loses nothing, but the log grows.
    var lastCheckpointFailure: HabitStoreError? {
        get throws { try using { $0.lastCheckpointFailure } }
    }

    /// The sizes of the files in the file system.
    var fileSizes: SQLiteFileSizes {
        get throws {
            SQLiteFileSizes(
                mainBytes: try SQLiteFiles.sizeBytes(of: path),
                logBytes: try SQLiteFiles.sizeBytes(of: path + "-wal"),
                sharedMemoryBytes: try SQLiteFiles.sizeBytes(of: path + "-shm")
            )
        }
    }

    /// The number of pages that the log file has room for. After a restart of the log, some of them are old.
    var walPages: Int {
        get throws {
            let bytes = try fileSizes.logBytes
            let pageSize = try withRead { try $0.int64("PRAGMA page_size") ?? 4_096 }
            // A header of 32 bytes, then 24 bytes before each page (https://www.sqlite.org/fileformat.html, 4).
            return Int(max(0, bytes - 32) / (pageSize + 24))
        }
    }

    /// Writes a consistent, compact copy as a single file that only its owner may read. Never replaces an existing file.
    ///
    /// The copy is written under another name and renamed when it is on the disk, so a file with the requested name is complete or,
    /// after a crash, empty.
    func backup(to target: String) throws {
        try using { file in try file.withReader { try $0.backup(to: target) } }
    }
}

extension SQLiteConnection {
    /// Writes a consistent, compact copy to an unused path.
    package func backup(to target: String) throws {
        let target = try SQLiteFiles.canonicalPath(target)
        guard try SQLiteFiles.status(of: target) == nil else {
            throw HabitStoreError(
                .unsupported,
                "there is a file at the backup's path already, and it is not overwritten; choose another path",
                at: HabitStoreError.Location(path: target)
            )
        }
        // Reserves the name, so that of two backups to one path, one fails immediately.
        try SQLiteFiles.create(target)
        let partial = target + ".partial-\(UUID().uuidString.lowercased())"
        do {
            try SQLiteFiles.create(partial)
            try withStatement("VACUUM INTO ?1") { statement in
                try statement.bind(partial, at: 1)
                try statement.run()
            }
            try SQLiteFiles.synchronize(partial)
            try SQLiteFiles.move(partial, to: target)
        } catch {
            // This call created all three, and they are useless now. A missing file is as good as a removed one.
            for path in [partial, partial + "-journal", target] { unlink(path) }
            throw error
        }
    }
}

/// How to open a store's file.
enum SQLiteOpenMode: Sendable, Equatable {
    /// The file must exist, and is never written.
    case readOnly
    /// The file must exist.
    case readWrite
    /// A missing file is created, readable only by its owner.
    case create

    /// Whether transactions may write.
    var isWritable: Bool { self != .readOnly }
}

/// The limits and sizes of an open store. Every wait and every pool is limited.
struct SQLiteOptions: Sendable, Equatable {
    /// How long a transaction waits for a lock of this process or another before it throws `.busy`.
    var busyLimitSeconds: Double = 5
    /// How long a step of a statement, from one row to the next, may work before it fails with `.limitExceeded`. Intact stores need
    /// far less; a damaged file can lead SQLite in circles.
    var stepLimitSeconds: Double = 120
    /// The length of the log, in pages, at which a commit is followed by a checkpoint.
    var checkpointPages: Int = 1_000
    /// The page cache of each connection. This is an upper bound; small stores use less.
    var cacheSizeBytes: Int = 16 << 20
    /// How many bytes of the file are read through a memory map; 0 for none.
    ///
    /// Hazard: with a map, SIGBUS ends this process if another process truncates the file or the disk fails to read.
    var mapSizeBytes: Int = 0
    /// The maximum number of concurrent read transactions in a process; further ones wait. Each has a connection, and so two
    /// descriptors.
    var maximumReaders: Int = 64
    /// The number of unused reader connections that stay open.
    var idleReaders: Int = 4
    /// The number of prepared statements that each connection caches.
    var cachedStatements: Int = 128
}

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

/// The files that this process has open, each only once, whatever path it was opened by.
///
/// Without it, two writer connections in one process could restart SQLite's log at the same time, and a lock between processes
/// would not separate them. `@unchecked`: `lock` guards `entries` and the users in them; its gate guards the rest of an entry.
final class SQLiteRegistry: @unchecked Sendable {
    static let shared = SQLiteRegistry()

    private struct Key: Hashable {
        let identity: SQLiteFileStatus.Identity
        let isWritable: Bool
    }

    private final class Entry {
        let gate = FairGate(places: 1)
        var file: SQLiteSharedFile?
        var references = 0
        var users = 0
    }

    private let lock = NSLock()
    private var entries: [Key: Entry] = [:]

    /// The file at the path: the one that is already open, with its original options, or a new one.
    func open(
        path: String,
        mode: SQLiteOpenMode,
        options: SQLiteOptions,
        validate: ((SQLiteConnection) throws -> Void)?
    ) throws -> SQLiteSharedFile {
        let prepared = try SQLiteFiles.prepare(path, mode: mode)
        let key = Key(identity: prepared.status.identity, isWritable: mode.isWritable)
        // Another thread may spend up to its own wait limit on opening the same file.
        return try withEntry(key, path: prepared.path, until: .after(seconds: options.busyLimitSeconds)) { entry in
            if let file = entry.file {
                if let validate { try file.withRead(validate) }
                entry.references += 1
                return file
            }
            let file = try SQLiteSharedFile(
                path: prepared.path,
                status: prepared.status,
                mode: mode,
                options: options,
                validate: validate
            )
            guard try SQLiteFiles.status(of: prepared.path)?.identity == prepared.status.identity else {
                try file.close()
                throw HabitStoreError(
                    .busy,
                    "the file was replaced while it was opened; try again",
                    at: HabitStoreError.Location(path: prepared.path)
                )
            }
            entry.file = file
            entry.references = 1
            return file
        }
    }

    /// Ends one use of an open file; the last one closes the file.
    func close(_ file: SQLiteSharedFile) throws {
        let key = Key(identity: file.identity, isWritable: file.isWritable)
        try withEntry(key, path: file.path, until: .farthest) { entry in
            entry.references -= 1
            guard entry.references == 0 else { return }
            entry.file = nil
            try file.close()
        }
    }

    private func withEntry<T>(
        _ key: Key,
        path: String,
        until deadline: Deadline,
        _ body: (Entry) throws -> T
    ) throws -> T {
        let entry = lock.withLock {
            let entry = entries[key] ?? Entry()
            entries[key] = entry
            entry.users += 1
            return entry
        }
        defer {
            lock.withLock {
                entry.users -= 1
                if entry.users == 0, entry.file == nil { entries[key] = nil }
            }
        }
        guard entry.gate.enter(until: deadline) else {
            throw HabitStoreError(
                .busy,
                "another thread is opening or closing the store longer than the stated wait; try again later",
                at: HabitStoreError.Location(path: path)
            )
        }
        defer { entry.gate.leave() }
        return try body(entry)
    }
}
