import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The launches of an app's new version until a store has replaced the app's old file, or serves it in place.
///
/// The old file serves as long as nothing else is proven: whatever fails, or is killed, leaves it as it was and is tried again at the next launch,
/// as often as needed. A store serves when code that shares nothing with the import has found every record of the file in it, and the file has not
/// changed meanwhile. From then on, an error is thrown, and the old file, which is out of date, never serves again by itself.
public struct FirstLaunch: Sendable {
    /// What serves the user after a launch.
    public enum Outcome<Store> {
        /// The store, which has all records of the old file.
        case store(Store, LaunchRecord)
        /// The app's old code, on the old file. The record says why.
        case oldFile(LaunchRecord)
    }

    /// What a launch does if there is no old file, and no launch has seen one.
    public enum MissingFile: Sendable {
        /// The path is wrong, or the file comes later, from a backup.
        case isAnError
        /// The user is new, and begins with an empty store.
        case isANewUser
    }

    /// What the name of a ``LaunchRecord`` ends with.
    public static let recordSuffix = ".launch.json"

    /// The path of the old file.
    public let file: String
    /// The path of the ``LaunchRecord``.
    public let recordPath: String
    private let missing: MissingFile
    fileprivate let waitSeconds: Double

    /// Names the old file.
    ///
    /// - Parameters:
    ///   - record: where the ``LaunchRecord`` is kept; nil for the file's path with `.launch.json`.
    ///   - whenMissing: what it means if there is no file.
    ///   - waitSeconds: how long a launch waits for another process that brings the records over, and for one that writes to the file.
    public init(
        of file: String,
        record: String? = nil,
        whenMissing: MissingFile = .isAnError,
        waitSeconds: Double = 5
    ) {
        (self.file, recordPath, missing) = (file, record ?? file + Self.recordSuffix, whenMissing)
        self.waitSeconds = waitSeconds
    }

    /// The state that the launches so far have led to; nil before the first one.
    ///
    /// - Throws: the errors of ``LaunchRecord/init(path:)``.
    public var record: LaunchRecord? { get throws { try LaunchRecord(path: recordPath) } }

    // MARK: In place

    /// Opens a store that serves the old file in place, such as a user's of a rollout from a mapped file.
    ///
    /// - Parameter store: opens the store; an error leaves the user with the old file.
    /// - Throws: once the store has served: what `store` throws, and ``HabitStoreError/Code/notFound`` if the file is missing; always: the errors of
    ///   ``record``.
    public func open<Store>(inPlace store: () throws -> Store) throws -> Outcome<Store> {
        if let record = try record, record.state == .moved { return try serveInPlace(record, store) }
        let outcome = try attempt { record in
            try requireFile(record)
            let store = try store()
            do {
                // A store that opens may still be one that nobody can read.
                try (store as? any HabitStore)?.read { _ in }
                record.state = .moved
                record.source = LaunchRecord.Source(stamp: SourceStamps(following: file)?.text)
                try record.write(recordPath)
            } catch {
                closeIfPossible(store)
                throw error
            }
            return store
        }
        return try outcome ?? serveInPlace(try record ?? LaunchRecord(file: file), store)
    }

    private func serveInPlace<Store>(_ record: LaunchRecord, _ store: () throws -> Store) throws -> Outcome<Store> {
        if record.source?.stamp != nil, SourceStamps(following: file) == nil {
            throw HabitStoreError(
                .notFound,
                "the file that the store served is missing; restore it, or remove \(recordPath) if it is meant to be gone",
                at: .init(path: file)
            )
        }
        return .store(try store(), record)
    }

    // MARK: By an import

    /// Opens the store that replaces the old file, after all records of the file were imported into it.
    ///
    /// An empty store is filled, and what a killed attempt has stored is kept. A store with records gets the file's records in one transaction
    /// (``TableImport/merge(into:notes:willTakeEffect:)``). No other code of this process may have the file open, since SQLite would lose its locks.
    ///
    /// - Parameters:
    ///   - options: whether rows with values that do not have their form are set aside.
    ///   - notes: the path that the names of the files next to the store begin with; nil for the path of the store.
    ///   - store: opens the store, and creates it if there is none.
    /// - Throws: once the store has replaced the file: what `store` throws, and ``HabitStoreError/Code/staleStore`` if it is another store; always:
    ///   the errors of ``record``.
    public func open<Store: ReplicableStore>(
        by mapping: TableMapping,
        schema: Schema,
        options: TableImport.Options = .init(),
        notes: String? = nil,
        _ store: () throws -> Store
    ) throws -> Outcome<Store> {
        if let record = try record, record.state == .moved { return try serve(record, mapping, schema, store) }
        let way = WayIn(launch: self, mapping: mapping, schema: schema, options: options, notes: notes)
        let outcome = try attempt { record in
            if let store = try way.resume(store, &record) { return store }
            guard try requireFile(record) else { return try way.begin(try store(), &record) }
            return try way.bring(into: store, &record)
        }
        return try outcome ?? serve(try record ?? LaunchRecord(file: file), mapping, schema, store)
    }

    /// Opens the store that has replaced the file, and looks whether old code has written to that.
    private func serve<Store: ReplicableStore>(
        _ record: LaunchRecord,
        _ mapping: TableMapping,
        _ schema: Schema,
        _ open: () throws -> Store
    ) throws -> Outcome<Store> {
        let store = try open()
        do {
            guard let lineage = record.source?.store, try store.lineage == lineage else {
                throw HabitStoreError(
                    .staleStore,
                    "this is not the store that the records of \(file) are in: it is missing, or was replaced; restore it, or remove "
                        + "\(recordPath) to begin again with the outdated records of the file",
                    at: .init(path: (store as? any MaintainableStore)?.path)
                )
            }
            return .store(store, try look(record, mapping, schema))
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    /// Notes in the record whether the old file has other rows than those that were imported.
    private func look(_ known: LaunchRecord, _ mapping: TableMapping, _ schema: Schema) throws -> LaunchRecord {
        var record = known
        guard let stamps = SourceStamps(following: file), stamps.text != record.source?.stamp else { return record }
        do {
            let digest = try TableImport.digest(of: try TableFile(path: file), mapping, schema)
            record.reason = nil
            record.source?.stamp = stamps.text
            if digest != record.source?.digest { record.writtenSince = record.writtenSince ?? .wholeSecond }
        } catch {
            // The store serves; only what became of the file is unknown.
            record.reason = LaunchRecord.Reason(error)
        }
        if record != known { try record.write(recordPath) }
        return record
    }

    // MARK: Attempts

    /// Runs `body` under the record's lock, and notes why it failed.
    ///
    /// - Returns: nil if another process has finished meanwhile.
    private func attempt<Store>(_ body: (inout LaunchRecord) throws -> Store) throws -> Outcome<Store>? {
        var record = try record ?? LaunchRecord(file: file)
        do {
            let lock = try lock()
            defer { withExtendedLifetime(lock) {} }
            record = try self.record ?? record
            guard record.state != .moved else { return nil }
            record.attempts += 1
            record.lastAttempt = .wholeSecond
            record.firstAttempt = record.firstAttempt ?? record.lastAttempt
            record.reason = nil
            record.hasSeenFile = record.hasSeenFile || SourceStamps(following: file) != nil
            try record.write(recordPath)
            do {
                return .store(try body(&record), record)
            } catch {
                record.reason = LaunchRecord.Reason(error)
                try record.write(recordPath)
            }
        } catch {
            // What cannot be written down is still said.
            record.reason = record.reason ?? LaunchRecord.Reason(error)
        }
        return .oldFile(record)
    }

    private func lock() throws -> LockedFile {
        do {
            return try LockedFile(recordPath + ".lock", timeoutSeconds: waitSeconds)
        } catch  where error.isBusy {
            throw HabitStoreError(
                .busy,
                "another process is bringing the records over; the next launch looks again",
                at: .init(path: recordPath)
            )
        } catch {
            throw HabitStoreError.system(error, "the launch record")
        }
    }

    /// - Returns: false for a new user.
    @discardableResult
    private func requireFile(_ record: LaunchRecord) throws -> Bool {
        var status = stat()
        guard stat(file, &status) != 0 else { return true }
        let number = errno
        // Where something cannot be reached, or a link leads nowhere, there may be a file.
        guard number == ENOENT, lstat(file, &status) != 0 else {
            throw HabitStoreError.system(number, "the old file cannot be reached", file)
        }
        if missing == .isANewUser, !record.hasSeenFile { return false }
        throw HabitStoreError(
            .notFound,
            record.hasSeenFile
                ? "the old file was here at an earlier launch, and is missing" : "there is no old file here",
            at: .init(path: file)
        )
    }
}

/// The way of a file's records into a store.
private struct WayIn {
    let launch: FirstLaunch
    let mapping: TableMapping
    let schema: Schema
    let options: TableImport.Options
    let notes: String?

    private static let tries = 3

    /// Begins with an empty store.
    func begin<Store: ReplicableStore>(_ store: Store, _ record: inout LaunchRecord) throws -> Store {
        try finish(store, &record, LaunchRecord.Source(store: try store.lineage))
        return store
    }

    /// Opens a store that took effect before the record could say so, because the launch was killed; nil if there is none, or the old file was
    /// changed since.
    func resume<Store: ReplicableStore>(_ open: () throws -> Store, _ record: inout LaunchRecord) throws -> Store? {
        guard record.state == .finishing, let source = record.source else { return nil }
        let store = try open()
        do {
            if try isFinished(store, record), try !isChanged(since: source) {
                try finish(store, &record, source)
                return store
            }
            closeIfPossible(store)
            return nil
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    /// Whether a killed launch was the last to write to a store, which then served no one.
    private func isFinished(_ store: some ReplicableStore, _ record: LaunchRecord) throws -> Bool {
        try record.state == .finishing && store.lineage == record.source?.store && !BulkLoad.isPossible(in: store)
    }

    /// Whether the file has other rows. One that is damaged or missing by now has none that could be read.
    private func isChanged(since source: LaunchRecord.Source) throws -> Bool {
        guard let stamps = SourceStamps(following: launch.file), stamps.text != source.stamp else { return false }
        do {
            return try TableImport.digest(of: try TableFile(path: launch.file), mapping, schema) != source.digest
        } catch let error as HabitStoreError where [.corrupt, .notAStore, .notFound].contains(error.code) {
            return false
        }
    }

    /// Imports the file's records into a store.
    func bring<Store: ReplicableStore>(into open: () throws -> Store, _ record: inout LaunchRecord) throws -> Store {
        var work = try Work(self)
        let store = try open()
        do {
            for attempt in 1... {
                do {
                    try run(work, store, &record)
                    return store
                } catch is OldFileChanged where attempt < Self.tries {
                    work = try Work(self)
                } catch is OldFileChanged {
                    throw HabitStoreError(
                        .busy,
                        "the old file is being written to; the next launch continues",
                        at: .init(path: launch.file)
                    )
                }
            }
            preconditionFailure("the last attempt throws")
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    /// The file at one moment, and its import.
    private struct Work {
        let file: TableFile
        let tables: TableImport
        let digest: String

        init(_ way: WayIn) throws {
            file = try TableFile(path: way.launch.file)
            if let loss = file.losses.first {
                throw HabitStoreError(.corrupt, loss.message, at: .init(path: way.launch.file))
            }
            tables = try TableImport(file, way.mapping, schema: way.schema, way.options)
            digest = try TableImport.digest(of: file, way.mapping, way.schema)
        }
    }

    private func run(_ work: Work, _ store: some ReplicableStore, _ record: inout LaunchRecord) throws {
        let base = notes ?? (store as? any MaintainableStore)?.path ?? launch.recordPath
        let source = LaunchRecord.Source(store: try store.lineage, digest: work.digest, stamp: work.file.stamps?.text)
        var hold: OldFileHold?
        defer { hold?.end() }
        let report: TableImport.Report
        if try BulkLoad.isPossible(in: store) {
            var next = record
            let willTakeEffect = {
                hold = try OldFileHold(launch, unchangedSince: work.file.stamps)
                (next.state, next.source) = (.finishing, source)
                try next.write(launch.recordPath)
                ImportCrashPoint.reach("launch.finishing")
            }
            report = try work.tables.fill(store, notes: base, willTakeEffect: willTakeEffect)
            record = next
        } else {
            let replaces = try isFinished(store, record)
            report = try work.tables.merge(into: store, notes: base, replaces: replaces) {
                hold = try OldFileHold(launch, unchangedSince: work.file.stamps)
                ImportCrashPoint.reach("launch.merging")
            }
        }
        guard report.isVerified else {
            throw HabitStoreError(
                .internalInconsistency,
                "the store differs from the old file: \(report.differences.joined(separator: "; "))",
                at: .init(path: launch.file)
            )
        }
        ImportCrashPoint.reach("launch.finished")
        record.differing = report.merged?.differing
        record.records = Dictionary(report.entities.map { ($0.entity, $0.records) }, uniquingKeysWith: +)
        try finish(store, &record, source)
    }

    private func finish(_ store: any ReplicableStore, _ record: inout LaunchRecord, _ source: LaunchRecord.Source)
        throws
    {
        (record.state, record.source, record.reason) = (.moved, source, nil)
        try record.write(launch.recordPath)
    }
}

/// The old file was changed after it was read.
private struct OldFileChanged: Error {}

/// Keeps other programs from writing to the old file, from one moment until ``end()``.
private final class OldFileHold {
    private let connection: SourceConnection?

    /// - Throws: ``OldFileChanged`` if the file is no longer as it was read, ``HabitStoreError/Code/busy`` if a program is writing to it.
    init(_ launch: FirstLaunch, unchangedSince stamps: SourceStamps?) throws {
        do {
            connection = try SourceConnection(holding: launch.file, busySeconds: launch.waitSeconds)
        } catch let error as HabitStoreError where error.code == .permissionDenied {
            // Nobody who runs with this program's permissions can write to it either.
            connection = nil
        }
        guard let stamps, let now = SourceStamps(following: launch.file), now.isSame(as: stamps) else {
            end()
            throw OldFileChanged()
        }
    }

    func end() { connection?.close() }
}

extension Date {
    /// The current second, as a record says it.
    fileprivate static var wholeSecond: Date { Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)) }
}

private func closeIfPossible(_ store: some Any) { (store as? any MaintainableStore)?.close() }

extension ReplicableStore {
    fileprivate var lineage: UUID {
        get throws { try replicaRead { try $0.information().lineage } }
    }
}
