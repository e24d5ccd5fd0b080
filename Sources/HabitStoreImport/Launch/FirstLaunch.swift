import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Hashing

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

    /// The suffix of a ``LaunchRecord``'s file name.
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
    /// - Parameters:
    ///   - needsFile: whether the file must still be there after the store has served; pass false once users may have removed it, after `complete`.
    ///   - open: opens the store; an error leaves the user with the old file.
    /// - Throws: once the store has served, or if the file says that its records are in another store by now: what `open` throws, and
    ///   ``HabitStoreError/Code/notFound`` if the file is missing; always: the errors of ``record``.
    public func open<Store>(inPlace open: () throws -> Store, needsFile: Bool = true) throws -> Outcome<Store> {
        func serve(_ record: LaunchRecord) throws -> Outcome<Store> {
            try noting(record) { record in
                guard record.source?.store == nil else {
                    throw HabitStoreError(
                        .staleStore,
                        "the records of this file were imported into a store at an earlier launch, and the file is outdated",
                        at: .init(path: file)
                    )
                }
                guard !needsFile || record.source?.stamp == nil || SourceStamps(following: file) != nil else {
                    throw HabitStoreError(
                        .notFound,
                        "the file that the store served is missing; restore it, or open it with needsFile: false if the user's rollout is complete",
                        at: .init(path: file)
                    )
                }
                return try open()
            }
        }
        if let record = try record, record.state == .moved { return try serve(record) }
        // Such a file is outdated, and serves no one.
        let isOutdated = TableFile.isFenced(file, busySeconds: waitSeconds)
        var failure: (any Error)?
        let outcome = try attempt { record in
            if needsFile || !isMissing { try requireFile(record) }
            let store: Store
            do {
                store = try open()
            } catch {
                failure = error
                throw error
            }
            do {
                // A store that opens may still refuse to be read.
                try (store as? any HabitStore)?.read { _ in }
                try record.becomeMoved(.init(stamp: SourceStamps(following: file)?.text), recordPath)
            } catch {
                closeIfPossible(store)
                throw error
            }
            return store
        }
        if case .oldFile(let record)? = outcome, isOutdated {
            throw failure
                ?? HabitStoreError(
                    .busy,
                    record.reason?.message ?? "the store could not be opened",
                    at: .init(path: file)
                )
        }
        return try outcome ?? serve(try record ?? LaunchRecord(file: file))
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
        let way = WayIn(launch: self, mapping: mapping, schema: schema, options: options, notes: notes)
        if let record = try record, record.state == .moved { return try serve(record, way, store) }
        let outcome = try attempt { record in
            if let store = try way.complete(store, &record) { return store }
            guard try requireFile(record) else { return try way.begin(try store(), &record) }
            return try way.bring(into: store, &record)
        }
        return try outcome ?? serve(try record ?? LaunchRecord(file: file), way, store)
    }

    /// Opens the store that has replaced the file, and looks whether old code has written to that.
    private func serve<Store: ReplicableStore>(
        _ record: LaunchRecord,
        _ way: WayIn,
        _ open: () throws -> Store
    ) throws -> Outcome<Store> {
        try noting(record) { record in
            guard let lineage = record.source?.store else {
                throw HabitStoreError(
                    .staleStore,
                    "a store serves this file in place since an earlier launch; open it by that",
                    at: .init(path: file)
                )
            }
            let store = try open()
            do {
                guard try store.lineage == lineage else {
                    throw HabitStoreError(
                        .staleStore,
                        "this is not the store that the records of \(file) are in: that is missing, or was replaced; restore it, or remove "
                            + "\(recordPath) to begin again with the outdated records of the file",
                        at: .init(path: (store as? any MaintainableStore)?.path)
                    )
                }
                record = way.look(record)
                return store
            } catch {
                closeIfPossible(store)
                throw error
            }
        }
    }

    /// Opens the store that serves, and notes in the record what has changed, or why that failed.
    private func noting<Store>(
        _ known: LaunchRecord,
        _ open: (inout LaunchRecord) throws -> Store
    ) throws -> Outcome<Store> {
        var record = known
        record.failure = nil
        func write() throws { if record != known { try record.write(recordPath) } }
        do {
            let store = try open(&record)
            // The store serves, whether or not this can be written.
            do { try write() } catch { record.reason = LaunchRecord.Reason(error) }
            return .store(store, record)
        } catch {
            record.failure = LaunchRecord.Reason(error)
            // The caller gets the error itself.
            try? write()
            throw error
        }
    }

    /// Takes what old code has written by now for known: ``LaunchRecord/writtenSince`` tells of later writes only. Call it after the writes were
    /// merged, while no old code is at work.
    ///
    /// - Throws: the errors of ``record``, and of reading the file, if it is there.
    public func acknowledgeOldWrites(by mapping: TableMapping, schema: Schema) throws {
        guard var record = try record, record.state == .moved else { return }
        if !isMissing {
            let way = WayIn(launch: self, mapping: mapping, schema: schema, options: .init(), notes: nil)
            record.source = try way.source(record)
        }
        (record.writtenSince, record.reason) = (nil, nil)
        try record.write(recordPath)
    }

    // MARK: Attempts

    /// Runs `body` under the record's lock, and notes why it failed.
    ///
    /// - Returns: nil if the record says by now that the store serves.
    private func attempt<Store>(_ body: (inout LaunchRecord) throws -> Store) throws -> Outcome<Store>? {
        var record = try record ?? LaunchRecord(file: file)
        func failed(_ error: any Error) -> Outcome<Store> {
            record.reason = LaunchRecord.Reason(error)
            return .oldFile(record)
        }
        let lock: RecordLock
        do { lock = try RecordLock(self) } catch { return failed(error) }
        defer { withExtendedLifetime(lock) {} }
        record = try self.record ?? record
        guard record.state != .moved else { return nil }
        do {
            record.attempts += 1
            record.lastAttempt = .wholeSecond
            record.firstAttempt = record.firstAttempt ?? record.lastAttempt
            record.reason = nil
            record.hasSeenFile = record.hasSeenFile || SourceStamps(following: file) != nil
            try record.write(recordPath)
            return .store(try body(&record), record)
        } catch {
            // The record on disk decides: a write of it may fail after it has taken effect.
            record = try self.record ?? record
            guard record.state != .moved else { return nil }
            let outcome = failed(error)
            do { try record.write(recordPath) } catch { return failed(error) }
            return outcome
        }
    }

    /// Whether there is certainly no file: where something cannot be reached, or a link leads nowhere, there may be one.
    fileprivate var isMissing: Bool {
        var status = stat()
        return stat(file, &status) != 0 && errno == ENOENT && lstat(file, &status) != 0
    }

    /// - Returns: false for a new user.
    @discardableResult
    private func requireFile(_ record: LaunchRecord) throws -> Bool {
        var status = stat()
        guard stat(file, &status) != 0 else { return true }
        let number = errno
        guard isMissing else { throw HabitStoreError.system(number, "the old file cannot be reached", file) }
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
        do {
            // It may be the unfinished store of another import.
            try store.read { _ in }
            try record.becomeMoved(.init(store: try store.lineage, mapping: try mapping.digest), launch.recordPath)
            return store
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    /// Opens a store that a killed launch had filled, after which the file has vanished; nil if there is a file.
    func complete<Store: ReplicableStore>(_ open: () throws -> Store, _ record: inout LaunchRecord) throws -> Store? {
        guard let source = record.source, record.state == .finishing, launch.isMissing else { return nil }
        let store = try open()
        do {
            if try isFilled(store, record) {
                try record.becomeMoved(source, launch.recordPath)
                return store
            }
            closeIfPossible(store)
            return nil
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    /// Whether a launch that was killed has filled the store, which then served no one.
    private func isFilled(_ store: some ReplicableStore, _ record: LaunchRecord) throws -> Bool {
        guard let source = record.source, let filled = source.filled, record.state == .finishing else { return false }
        return try source.store == store.lineage
            && BulkLoad.isUntouched(store, since: Date(timeIntervalSinceReferenceDate: filled))
    }

    /// Imports the file's records into a store.
    func bring<Store: ReplicableStore>(into open: () throws -> Store, _ record: inout LaunchRecord) throws -> Store {
        var work = try read()
        let store = try open()
        do {
            for _ in 1..<Self.tries {
                do {
                    try run(work, store, &record)
                    return store
                } catch is OldFileChanged {
                    work = try read()
                }
            }
            do {
                try run(work, store, &record)
                return store
            } catch is OldFileChanged {
                throw isBeingWritten
            }
        } catch {
            closeIfPossible(store)
            throw error
        }
    }

    private var isBeingWritten: HabitStoreError {
        HabitStoreError(
            .busy,
            "the old file is being written to; the next launch continues",
            at: .init(path: launch.file)
        )
    }

    /// Reads the file, again if a program is writing to it.
    private func read() throws -> Work {
        for _ in 1..<Self.tries {
            do { return try Work(self) } catch is OldFileChanged { Thread.sleep(forTimeInterval: 0.05) }
        }
        do { return try Work(self) } catch is OldFileChanged { throw isBeingWritten }
    }

    /// The file at one moment, and its import.
    private struct Work {
        let file: TableFile
        let tables: TableImport
        let digest: String

        init(_ way: WayIn) throws {
            file = try TableFile(path: way.launch.file)
            if let loss = file.losses.first {
                // The end of the log may be another program's transaction, which is not finished yet.
                guard let stamps = file.stamps, stamps.isLogAtRest,
                    SourceStamps(following: way.launch.file)?.text == stamps.text
                else { throw OldFileChanged() }
                throw HabitStoreError(.corrupt, loss.message, at: .init(path: way.launch.file))
            }
            tables = try TableImport(file, way.mapping, schema: way.schema, way.options)
            digest = try TableImport.digest(of: file, way.mapping, way.schema)
        }
    }

    private func run(_ work: Work, _ store: some ReplicableStore, _ record: inout LaunchRecord) throws {
        let base = notes ?? (store as? any MaintainableStore)?.path ?? launch.recordPath
        let time = Date()
        var source = LaunchRecord.Source(
            store: try store.lineage,
            digest: work.digest,
            stamp: work.file.stamps?.text,
            mapping: try mapping.digest
        )
        var hold: OldFileHold?
        defer { hold?.end() }
        let isFilled = try isFilled(store, record)
        if isFilled, record.source?.digest == work.digest, record.source?.mapping == source.mapping {
            hold = try OldFileHold(launch, unchangedSince: work.file.stamps)
            return try record.becomeMoved(source, launch.recordPath)
        }
        let earlier = isFilled ? record.source?.filled.map { Date(timeIntervalSinceReferenceDate: $0) } : nil
        var next = record
        let report: TableImport.Report
        if try isFilled || BulkLoad.isPossible(in: store) {
            let willTakeEffect = { (report: TableImport.Report) in
                try require(report)
                hold = try OldFileHold(launch, unchangedSince: work.file.stamps)
                source.filled = time.timeIntervalSinceReferenceDate
                (next.state, next.source) = (.finishing, source)
                next.note(report)
                try next.write(launch.recordPath)
                ImportCrashPoint.reach("launch.finishing")
            }
            report = try work.tables.fill(
                store,
                notes: base,
                at: time,
                reopening: earlier,
                willTakeEffect: willTakeEffect
            )
        } else {
            report = try work.tables.merge(into: store, notes: base) { report in
                try require(report)
                hold = try OldFileHold(launch, unchangedSince: work.file.stamps)
                ImportCrashPoint.reach("launch.merging")
            }
        }
        try require(report)
        ImportCrashPoint.reach("launch.finished")
        next.note(report)
        try next.becomeMoved(source, launch.recordPath)
        record = next
    }

    /// Refuses an import that does not prove that the store has the file's records.
    private func require(_ report: TableImport.Report) throws {
        guard report.isVerified else {
            throw HabitStoreError(
                .internalInconsistency,
                "the store differs from the old file: \(report.differences.joined(separator: "; "))",
                at: .init(path: launch.file)
            )
        }
        guard !report.isMostlySetAside else {
            throw HabitStoreError(
                .invalidValue,
                "most rows, \(report.setAside), have values that do not have their form; correct the mapping",
                at: .init(path: launch.file)
            )
        }
    }

    // MARK: Afterwards

    /// The record of a store that serves, with what old code has done to the file since.
    func look(_ known: LaunchRecord) -> LaunchRecord {
        guard let stamps = SourceStamps(following: launch.file), stamps.text != known.source?.stamp else {
            return known
        }
        var record = known
        do {
            let source = try source(known)
            let isComparable = source.mapping == known.source?.mapping || known.source?.digest == nil
            record.reason =
                isComparable
                ? nil
                : LaunchRecord.Reason(
                    HabitStoreError(
                        .schemaMismatch,
                        "the mapping has changed since, so it is unknown whether old code has written to the file",
                        at: .init(path: launch.file)
                    )
                )
            if isComparable, source.digest != known.source?.digest {
                record.writtenSince = record.writtenSince ?? .wholeSecond
            }
            if isComparable { record.source = source } else { record.source?.stamp = stamps.text }
        } catch {
            // The store serves; only what became of the file is unknown, and is not asked again before the file changes.
            record.reason = LaunchRecord.Reason(error)
            record.source?.stamp = stamps.text
        }
        return record
    }

    /// The state of the file, for the store of a record.
    func source(_ record: LaunchRecord) throws -> LaunchRecord.Source {
        let file = try TableFile(path: launch.file)
        return LaunchRecord.Source(
            store: record.source?.store,
            digest: try TableImport.digest(of: file, mapping, schema),
            stamp: file.stamps?.text,
            mapping: try mapping.digest
        )
    }
}

extension LaunchRecord {
    /// Notes what became of the file's rows.
    fileprivate mutating func note(_ report: TableImport.Report) {
        records = Dictionary(report.entities.map { ($0.entity, $0.records) }, uniquingKeysWith: +)
        setAside = report.setAside + (report.merged?.refused ?? 0)
        differing = report.merged?.differing
    }

    /// Says that the store serves, once that is on disk.
    fileprivate mutating func becomeMoved(_ source: Source, _ path: String) throws {
        var moved = self
        (moved.state, moved.source, moved.reason) = (.moved, source, nil)
        try moved.write(path)
        self = moved
    }
}

/// Excludes other processes' launches.
private final class RecordLock {
    private let file: LockedFile

    init(_ launch: FirstLaunch) throws {
        do {
            file = try LockedFile(launch.recordPath + ".lock", timeoutSeconds: launch.waitSeconds)
        } catch  where error.isBusy {
            throw HabitStoreError(
                .busy,
                "another process is bringing the records over; the next launch looks again",
                at: .init(path: launch.recordPath)
            )
        } catch {
            throw HabitStoreError.system(error, "the launch record")
        }
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
            // Other programs with the same permissions cannot write to it either.
            connection = nil
        }
        guard let stamps, stamps.isLogAtRest, SourceStamps(following: launch.file)?.text == stamps.text else {
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

extension TableMapping {
    /// SHA-256 of what it says, in hexadecimal.
    fileprivate var digest: String {
        get throws { SHA256.hash(data: Data(try json().utf8)).hexadecimal }
    }
}

private func closeIfPossible(_ store: some Any) { (store as? any MaintainableStore)?.close() }

extension ReplicableStore {
    fileprivate var lineage: UUID {
        get throws { try replicaRead { try $0.information().lineage } }
    }
}
