import Foundation
@_spi(Engines) import HabitStore

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
