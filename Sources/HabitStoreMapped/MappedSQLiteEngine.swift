import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite
import Synchronization

/// The engine of ``MappedSQLiteStore``: the tables of an app's own SQLite file, read and written in place.
///
/// Journal mode and page size stay the app's. Writes of other programs are noticed by triggers, and become part of the history before the next
/// transaction reads or writes.
@_spi(Engines) public final class MappedSQLiteEngine: StorageEngine {
    /// The path of the file.
    public var path: String? { file }

    private let file: String
    private let schema: Schema
    /// Nil for an engine that only outlines the store.
    private let mapping: TableMapping?
    private let isWritable: Bool
    private let enforcesForeignKeys: Bool
    private let busyLimitSeconds: Double
    private let now: @Sendable () -> Date
    private let commits: SharedCommit<SQLiteConnection>
    private let pool = Mutex(Pool())

    /// The connections that are not in use.
    ///
    /// `@unchecked`: a connection is used by the thread that took it out.
    private struct Pool: @unchecked Sendable {
        var isClosed = false
        var readers: [SQLiteConnection] = []
        var writer: SQLiteConnection?
        var layout: (cookie: Int64, layout: MappedLayout)?
        /// The thread whose write is running.
        var writingThread: ObjectIdentifier?
    }

    private static let idleReaders = 4
    private static let selectForeignWrite =
        "SELECT 1 FROM \(MappedTriggers.log) WHERE kind < \(LoggedKind.unformed) LIMIT 1"
    /// How often a read begins again because another program keeps writing.
    private static let mostAttempts = 20

    /// Opens an adopted file.
    ///
    /// - Parameter mapping: nil to read the bookkeeping only.
    /// - Throws: ``HabitStoreError/Code/notAStore`` for a file that was not adopted.
    init(
        path: String,
        mapping: TableMapping?,
        schema: Schema,
        isWritable: Bool,
        busyLimitSeconds: Double,
        now: @escaping @Sendable () -> Date
    ) throws {
        (self.mapping, self.schema, self.isWritable) = (mapping, schema, isWritable)
        (self.busyLimitSeconds, self.now) = (busyLimitSeconds, now)
        let probe = try SQLiteConnection(
            foreign: path,
            isWritable: isWritable,
            enforcesForeignKeys: false,
            busyLimitSeconds: busyLimitSeconds
        )
        defer { probe.close() }
        if isWritable, let mapping { try Self.upgrade(mapping, schema, probe) }
        file = probe.path
        commits = SharedCommit(path: probe.path) { $0.isInTransaction }
        try probe.beginRead()
        defer { probe.rollback() }
        try AdoptedFile.require(probe)
        let bookkeeping = MappedSnapshot(probe, .empty(schema))
        enforcesForeignKeys = try bookkeeping.metadata(AdoptedMetadata.foreignKeys) != "off"
        guard let mapping else { return }
        try bookkeeping.requireSchema(schema, path: probe.path)
        try AdoptedFile.require(mapping, bookkeeping)
        _ = try layout(probe)
    }

    private static func upgrade(_ mapping: TableMapping, _ schema: Schema, _ connection: SQLiteConnection) throws {
        try connection.beginRead()
        defer { connection.rollback() }
        try AdoptedFile.require(connection)
        guard try AdoptedFile.isOutdated(connection) else { return }
        connection.rollback()
        try connection.beginWrite()
        try AdoptedFile.upgrade(mapping, schema, connection)
        try connection.commit()
    }

    // MARK: Connections

    private func closedError() -> HabitStoreError {
        HabitStoreError(.closed, "the store was closed; open it again", at: .init(path: file))
    }

    private func connect() throws -> SQLiteConnection {
        try SQLiteConnection(
            foreign: file,
            isWritable: isWritable,
            enforcesForeignKeys: enforcesForeignKeys,
            busyLimitSeconds: busyLimitSeconds
        )
    }

    private func takeReader() throws -> SQLiteConnection {
        let idle = try pool.withLock { pool in
            guard !pool.isClosed else { throw closedError() }
            return pool.readers.popLast()
        }
        return try idle ?? connect()
    }

    private func giveBack(reader connection: SQLiteConnection) {
        let isKept =
            connection.rollback()
            && pool.withLock { pool in
                guard !pool.isClosed, pool.readers.count < Self.idleReaders else { return false }
                pool.readers.append(connection)
                return true
            }
        if !isKept { connection.close() }
    }

    private func takeWriter() throws -> SQLiteConnection {
        let idle = try pool.withLock { pool in
            guard !pool.isClosed else { throw closedError() }
            pool.writingThread = ObjectIdentifier(Thread.current)
            return pool.writer.take()
        }
        return try idle ?? connect()
    }

    private func giveBack(writer connection: SQLiteConnection) {
        let isRolledBack = connection.rollback()
        let isKept = pool.withLock { pool in
            guard isRolledBack, !pool.isClosed else { return false }
            pool.writer = connection
            return true
        }
        if !isKept { connection.close() }
    }

    private var isWritingHere: Bool { pool.withLock { $0.writingThread == ObjectIdentifier(Thread.current) } }

    /// Throws if the path now leads to another file than the open one, or to none.
    public func requireInPlace() throws {
        let connection = try takeReader()
        defer { giveBack(reader: connection) }
        try requireInPlace(connection)
    }

    private func requireInPlace(_ connection: SQLiteConnection) throws {
        guard connection.hasMoved else { return }
        throw HabitStoreError(
            .fileMoved,
            "the file was moved or replaced while it was open; close the store and open it again",
            at: .init(path: file)
        )
    }

    // MARK: The file's schema

    /// The layout of the file's schema in the connection's transaction. The file is read again when its schema has changed.
    private func layout(_ connection: SQLiteConnection) throws -> MappedLayout {
        guard let mapping else { return .empty(schema) }
        let cookie = connection.schemaCookie
        if let known = pool.withLock({ $0.layout }), known.cookie == cookie { return known.layout }
        let layout = try AdoptedFile.layout(mapping, schema, connection)
        pool.withLock { $0.layout = (cookie, layout) }
        return layout
    }

    // MARK: Transactions

    /// Runs `body` on one snapshot, of which the history knows everything.
    public func read<R>(_ body: (MappedSnapshot) throws -> R) throws -> R {
        for _ in 0..<Self.mostAttempts {
            let connection = try takeReader()
            defer { giveBack(reader: connection) }
            try connection.beginRead()
            try requireInPlace(connection)
            let snapshot = MappedSnapshot(connection, try layout(connection))
            defer { snapshot.end() }
            if try mapping == nil || !hasForeignWrites(snapshot) { return try body(snapshot) }
            snapshot.end()
            guard isWritable, !isWritingHere else { return try bookkeeping(connection, snapshot.layout, body) }
            connection.rollback()
            try absorb()
        }
        throw HabitStoreError(
            .busy,
            "another program kept writing to the file each time a read began; try again",
            at: .init(path: file)
        )
    }

    /// Runs `body` on one snapshot, whose records are refused if the history does not know of them all.
    public func readBookkeeping<R>(_ body: (MappedSnapshot) throws -> R) throws -> R {
        let connection = try takeReader()
        defer { giveBack(reader: connection) }
        try connection.beginRead()
        try requireInPlace(connection)
        return try bookkeeping(connection, try layout(connection), body)
    }

    private func bookkeeping<R>(
        _ connection: SQLiteConnection,
        _ layout: MappedLayout,
        _ body: (MappedSnapshot) throws -> R
    ) throws -> R {
        let snapshot = MappedSnapshot(
            connection,
            layout,
            refusal: HabitStoreError(
                .busy,
                "another program has written to the file, and this cannot write it down in the history; open the store for writing",
                at: .init(path: file)
            )
        )
        defer { snapshot.end() }
        return try body(snapshot)
    }

    /// Whether the log of changes has any in a file that is a store already.
    private func hasForeignWrites(_ snapshot: MappedSnapshot) throws -> Bool {
        let isAny = try snapshot.connection.withStatement(Self.selectForeignWrite) { try $0.step() }
        return try isAny && snapshot.isInitialized
    }

    /// Writes down in the history what other programs have changed.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    func absorb() throws -> Bool {
        try lead { connection in
            try connection.beginWrite()
            let writer = MappedWriter(connection, try layout(connection))
            defer { writer.end() }
            let found = try writer.isInitialized && writer.absorb(at: now(), isOwn: false)
            try commit(connection)
            return found
        }
    }

    /// Runs `body` in the write transaction, which is durable before this method returns.
    public func write<R>(_ body: (MappedWriter) throws -> R) throws -> R {
        guard isWritable else {
            throw HabitStoreError(.permissionDenied, "the store was opened read-only", at: .init(path: file))
        }
        return try lead { connection in
            // The changes of a followed store include those by its cascades, which must not be made twice.
            let enforces = try enforcesForeignKeys && !isFollowing(connection)
            try connection.exec("PRAGMA foreign_keys = \(enforces ? "ON" : "OFF")")
            let writer = try begin(connection)
            defer { writer.end() }
            // Whatever the order in which a transaction writes records, its references are looked at when it ends.
            try connection.exec("PRAGMA defer_foreign_keys = ON")
            try writer.lowerFence()
            let result = try body(writer)
            guard connection.isInTransaction else { throw connection.prematureEndError() }
            if try writer.isInitialized { try writer.absorb(at: now(), isOwn: true) }
            try writer.raiseFence()
            try requireInPlace(connection)
            try commit(connection)
            return result
        }
    }

    /// Begins a write transaction after everything that other programs have written is history, so that reads during it find nothing new.
    private func begin(_ connection: SQLiteConnection) throws -> MappedWriter {
        var attempts = 0
        while true {
            try connection.beginWrite()
            try requireInPlace(connection)
            let writer = MappedWriter(connection, try layout(connection))
            guard try writer.isInitialized else {
                try writer.takeUnknown()
                return writer
            }
            attempts += 1
            guard try writer.absorb(at: now(), isOwn: false), attempts < Self.mostAttempts else { return writer }
            writer.end()
            try commit(connection)
        }
    }

    /// Whether the records are those of the user's other store; outside of a transaction, a guess.
    private func isFollowing(_ connection: SQLiteConnection) throws -> Bool {
        let bookkeeping = MappedWriter(connection, .empty(schema))
        defer { bookkeeping.end() }
        return try bookkeeping.isInitialized && ForeignChanges.role(bookkeeping) != .authoritative
    }

    /// Runs `body` on the connection of the one writer.
    private func lead<R>(_ body: (SQLiteConnection) throws -> R) throws -> R {
        try commits.write(
            until: .now() + busyLimitSeconds,
            leading: { _ in
                let connection = try takeWriter()
                defer {
                    giveBack(writer: connection)
                    pool.withLock { $0.writingThread = nil }
                }
                return try body(connection)
            },
            joining: { _ in throw HabitStoreError(.internalInconsistency, "a write cannot join another one") }
        )
    }

    private func commit(_ connection: SQLiteConnection) throws {
        do {
            try connection.commit()
        } catch let error as HabitStoreError {
            let violation = error.code == .danglingReference ? try? AdoptedFile.foreignKeyViolation(connection) : nil
            let undone = connection.undoCommit(error)
            guard let violation, undone.code != .outcomeUnknown else { throw undone }
            throw HabitStoreError(.danglingReference, violation, at: .init(path: file), underlying: error)
        }
    }

    /// Not supported: the tables are the app's.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: MappedWriter, _ reshaped: (Set<String>) throws -> MappedWriter) throws -> R
    ) throws -> R {
        throw HabitStoreError(
            .unsupported,
            "the tables of this store are the app's: let the app migrate them, and adopt the file again with a mapping to the new schema",
            at: .init(path: file)
        )
    }

    // MARK: Maintenance

    /// Checks the file's structure, and that each row has an identifier and each value its form.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        try read { snapshot in
            var findings = try snapshot.connection.texts("PRAGMA integrity_check").filter { $0 != "ok" }.map {
                StoreFinding(.damage, "integrity", "SQLite's integrity check: \($0)")
            }
            var checked = 0
            for table in snapshot.layout.tables { findings += try check(table, snapshot, &checked, progress) }
            try progress(checked)
            return findings
        }
    }

    private func check(
        _ table: MappedTable,
        _ snapshot: MappedSnapshot,
        _ checked: inout Int,
        _ progress: (Int) throws -> Void
    ) throws -> [StoreFinding] {
        var findings: [StoreFinding] = []
        func keys(_ prefix: String) -> String {
            table.keyColumns.enumerated().map { "\(prefix)\($0) = t.\(SQLiteFormat.quoted($1))" }.joined(
                separator: " AND "
            )
        }
        let isUnknown = "NOT EXISTS (SELECT 1 FROM \(table.keyTable) AS k WHERE \(keys("k.k")))"
        let isLogged =
            "EXISTS (SELECT 1 FROM \(MappedTriggers.log) AS l WHERE l.source = \(table.number) AND \(keys("l.c")))"
        func count(_ condition: String) throws -> Int64 {
            try snapshot.connection.int64("SELECT count(*) FROM \(table.quotedName) AS t WHERE \(condition)") ?? 0
        }
        let unformed = try count("\(isUnknown) AND \(isLogged)")
        if unformed > 0 {
            findings.append(
                StoreFinding(
                    .unreadable,
                    "valueWithoutForm",
                    "\(unformed) new rows of \(table.name) are not records yet: a value does not have its form; correct it in the app"
                )
            )
        }
        let unknown = try count("\(isUnknown) AND NOT \(isLogged)")
        if unknown > 0 {
            findings.append(
                StoreFinding(
                    .damage,
                    "unheardWrite",
                    "\(unknown) rows of \(table.name) were inserted unnoticed, while the store's triggers were not there"
                )
            )
        }
        for (entity, part) in snapshot.layout.entities(of: snapshot.layout.table(table.name) ?? 0) {
            try snapshot.forEachCandidate(try snapshot.plan(BoundQuery(entity: entity))) { id, row, found in
                guard found?.index == part.index else { return true }
                do {
                    _ = try snapshot.rows.record(row, id, table, part)
                } catch let error as HabitStoreError where error.code == .invalidValue {
                    findings.append(
                        StoreFinding(
                            .unreadable,
                            "valueWithoutForm",
                            error.message,
                            entity: error.location.entity,
                            id: id,
                            attribute: error.location.attribute
                        )
                    )
                }
                checked += 1
                if checked.isMultiple(of: 1_000) { try progress(checked) }
                return true
            }
        }
        return findings
    }

    /// Writes a consistent, compact copy to an unused path: an adopted file like this one.
    public func backup(to path: String) throws {
        let connection = try takeReader()
        defer { giveBack(reader: connection) }
        try connection.backup(to: path)
    }

    /// Closes the file. Later transactions throw ``HabitStoreError/Code/closed``.
    public func close() {
        let open = pool.withLock { pool in
            let open = pool.readers + [pool.writer].compactMap(\.self)
            (pool.isClosed, pool.readers, pool.writer) = (true, [], nil)
            return open
        }
        for connection in open { connection.close() }
    }
}
