import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys
import Synchronization

/// The engine of ``PostgresHabitStore``: one user's rows in the tables of a server.
@_spi(Engines) public final class PostgresEngine: StorageEngine {
    /// How to open a store.
    struct Options {
        var isReadOnly = false
        var createsStore = true
        var limits = PostgresPool.Limits()
        #if PLANNER_MUTANTS
        var mutant: KeyPlannerMutant?
        #endif
    }

    /// Always nil: there is no file.
    public let path: String? = nil
    let catalog: PostgresCatalog
    private let place: PostgresPlace
    private let pool: PostgresPool
    private let options: Options
    /// Lets one write of this store at a time ask for the row, so that waiting writes take no connections.
    private let gate = FairGate(places: 1)
    private let state = Mutex(State())

    private struct State {
        var isClosed = false
        /// Whether a write may build missing indexes, which is only true during opening.
        var isOpening = true
        /// The thread of the current write.
        var writer: ObjectIdentifier?
        /// Whether the standby may lack a commit that the server has.
        var isUnconfirmed = false
    }

    /// Creates the engine without asking the server, which the first transaction does.
    init(_ place: PostgresPlace, schema: Schema, options: Options) throws {
        self.place = place
        self.options = options
        catalog = try PostgresCatalog(schema: schema, place: place)
        pool = .of(place.server, options.limits)
    }

    /// Completes opening: builds indexes that a program with another schema did not maintain. If none is missing, it does not ask
    /// the server.
    func finishOpening() throws {
        defer { state.withLock { $0.isOpening = false } }
        guard !options.isReadOnly, !catalog.schema.entities.isEmpty, let seen = catalog.bookkeeping,
            !seen.indexes.hasAll(of: catalog.keys)
        else { return }
        try write { _ in }
    }

    private func requireOpen() throws {
        guard !state.withLock({ $0.isClosed }) else {
            throw HabitStoreError(.closed, "the store was closed; open it again", at: .init(path: catalog.place))
        }
    }

    // MARK: Reading

    /// Runs `body` on one snapshot. Inside a write of the same thread, it sees the state before that write.
    public func read<R>(_ body: (PostgresSnapshot) throws -> R) throws -> R {
        try requireOpen()
        return try withConnection { connection in
            let session = PostgresSession(connection, catalog, isWritable: false) { self.pool.answerDeadline }
            defer { session.end() }
            if !makesStore { try session.check { try self.requireStore(session) } }
            let snapshot = PostgresSnapshot(session, catalog)
            #if PLANNER_MUTANTS
            snapshot.mutant = options.mutant
            #endif
            let result = try body(snapshot)
            try session.finishChecks()
            return result
        }
    }

    /// Whether to create a missing store. One that disappears after opening was removed.
    private var makesStore: Bool { options.createsStore && state.withLock { $0.isOpening } }

    private func requireStore(_ session: PostgresSession) throws {
        guard session.head == nil else { return }
        throw PostgresError.error(.notFound, "the server has no store of this name", at: catalog.place)
    }

    private func withConnection<R>(_ body: (PostgresConnection) throws -> R) throws -> R {
        do {
            return try pool.withConnection(until: pool.deadline, body)
        } catch let outcome as PostgresOutcome {
            throw outcome.error(during: "connecting", at: catalog.place)
        }
    }

    // MARK: Writing

    /// Runs `body` as the only writer of the store, among all processes on all machines.
    ///
    /// If the answer to a commit is lost, the commit is looked up on the server that accepts writes then. The outcome is unknown
    /// only if that does not succeed in time either.
    public func write<R>(_ body: (PostgresWriter) throws -> R) throws -> R {
        try requireOpen()
        let thread = ObjectIdentifier(Thread.current)
        guard state.withLock({ $0.writer != thread }) else { throw HabitStoreError.nestedWrite(path: catalog.place) }
        guard gate.enter(until: pool.deadline) else { throw HabitStoreError.busyWriter(path: catalog.place) }
        state.withLock { $0.writer = thread }
        defer {
            state.withLock { $0.writer = nil }
            gate.leave()
        }
        let write = UUID()
        let (result, unresolved) = try withConnection { try run(body, $0, naming: write) }
        if let unresolved { try resolveOutcome(unresolved) }
        return result
    }

    /// A commit with an unknown outcome.
    private struct UnresolvedCommit {
        /// The name of the write.
        let write: UUID
        /// The version of the store before the commit.
        let version: Int64
        /// Why the outcome is unknown.
        let failure: PostgresFailure
    }

    /// - Returns: the result of `body`, and the commit if its outcome is unknown.
    private func run<R>(
        _ body: (PostgresWriter) throws -> R,
        _ connection: PostgresConnection,
        naming write: UUID
    ) throws -> (R, UnresolvedCommit?) {
        let session = PostgresSession(connection, catalog, isWritable: true) { self.pool.answerDeadline }
        defer { session.end() }
        let writer = PostgresWriter(session, catalog)
        try begin(session, writer)
        let result = try body(writer)
        try requireOpen()
        guard writer.hasChanges else {
            try confirm(session)
            return (result, nil)
        }
        let ending = try writer.ending(write)
        do {
            try session.commit(ending)
            catalog.bookkeeping = writer.committedBookkeeping
            state.withLock { $0.isUnconfirmed = false }
            return (result, nil)
        } catch PostgresOutcome.refused(let failure) {
            throw PostgresError.error(failure, during: "committing", at: catalog.place)
        } catch PostgresOutcome.lost(let failure) {
            catalog.bookkeeping = nil
            return (
                result, UnresolvedCommit(write: write, version: try session.begun()?.version ?? 0, failure: failure)
            )
        }
    }

    private func begin(_ session: PostgresSession, _ writer: PostgresWriter) throws {
        if try session.begun() == nil {
            guard makesStore else { return try requireStore(session) }
            if try session.makeStore(named: place.name) { try requireNothingLeft(session) }
        }
        guard let bookkeeping = try writer.bookkeeping(), !bookkeeping.metadata.isEmpty || !bookkeeping.isAsWritten
        else {
            try requireNothingLeft(session)
            return try writer.describe()
        }
        guard !bookkeeping.indexes.hasAll(of: catalog.keys), !catalog.schema.entities.isEmpty else { return }
        guard state.withLock({ $0.isOpening }) else {
            throw PostgresError.error(
                .schemaMismatch,
                "a program with other indexes has opened the store meanwhile; open it again",
                at: catalog.place
            )
        }
        try writer.requireSchema(catalog.schema, path: catalog.place)
        try writer.completeIndexes()
    }

    /// A store whose own row is gone must not be mistaken for a new one, which would take over its remaining rows.
    private func requireNothingLeft(_ session: PostgresSession) throws {
        let left = try session.ask([PostgresCall(.leftovers, .uuid(catalog.store))])
        guard left[0].count > 0 else { return }
        throw PostgresError.error(
            .corrupt,
            "the server has rows of a store of this name, but the store's own row is gone; restore a backup",
            at: catalog.place
        )
    }

    // MARK: Outcomes

    /// Finds out the outcome of a commit that was not answered.
    ///
    /// This waits for the row's lock, which any process still working on that commit holds. The row names several recent commits,
    /// because other writers may have followed. A commit that is found is followed by a separate commit, because the standby may
    /// not have the row yet.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if nothing was written; ``HabitStoreError/Code/outcomeUnknown`` if the
    ///   outcome was not found in time.
    private func resolveOutcome(_ commit: UnresolvedCommit) throws {
        pool.closeIdle()
        let deadline = pool.answerDeadline
        var last = commit.failure
        // A server that could not wait for its standby would only repeat its answer.
        while commit.failure.state != "01000", !deadline.hasPassed {
            do {
                guard try isKept(commit, until: deadline) else {
                    throw PostgresError.error(
                        .inputOutput,
                        "the connection was lost before the commit, and nothing was written; try again (\(commit.failure))",
                        at: catalog.place
                    )
                }
                return
            } catch PostgresOutcome.lost(let failure), PostgresOutcome.refused(let failure) {
                last = failure
                Thread.sleep(forTimeInterval: Self.resolvingPause)
            }
        }
        state.withLock { $0.isUnconfirmed = true }
        throw PostgresError.error(
            .outcomeUnknown,
            "it is unknown whether the commit was kept; open the store again and read (\(last))",
            at: catalog.place
        )
    }

    private static let resolvingPause = 0.05

    /// Commits an empty change after a commit that the standby may lack: a caller that has just read that commit in a write transaction takes
    /// it for kept, and a failover would lose it.
    ///
    /// - Throws: ``HabitStoreError/Code/outcomeUnknown`` as long as the standby does not answer.
    private func confirm(_ session: PostgresSession) throws {
        guard state.withLock({ $0.isUnconfirmed }) else { return }
        do {
            try session.commit([PostgresCall(.touch, .uuid(catalog.store))])
            state.withLock { $0.isUnconfirmed = false }
        } catch PostgresOutcome.lost(let failure), PostgresOutcome.refused(let failure) {
            throw PostgresError.error(
                .outcomeUnknown,
                "the server has a commit that its standby may lack; try again when the standby answers (\(failure))",
                at: catalog.place
            )
        }
    }

    private func isKept(_ commit: UnresolvedCommit, until deadline: Deadline) throws -> Bool {
        try pool.withConnection(until: deadline) { connection in
            let store = PostgresValue.uuid(catalog.store)
            // A transaction that is creating the row has no visible lock on it, but keeps others from creating it.
            let answers = try connection.run(
                [
                    PostgresCall(.beginWrite), .makingStore(catalog.store, named: place.name, at: 0),
                    PostgresCall(.lockedHead, store),
                ],
                until: deadline
            )
            guard try Self.names(commit, answers[2]) else {
                connection.post(PostgresCall(.rollback))
                return false
            }
            _ = connection.tookNotice("01000")
            _ = try connection.run([PostgresCall(.touch, store), PostgresCall(.commit)], until: deadline)
            guard !connection.tookNotice("01000") else {
                throw PostgresOutcome.lost(PostgresFailure(state: "01000", message: "the standby has not answered"))
            }
            return true
        }
    }

    /// Whether a store's row names a commit.
    ///
    /// - Throws: ``PostgresOutcome`` if so many commits have followed that it would no longer be named.
    private static func names(_ commit: UnresolvedCommit, _ row: PostgresResult) throws -> Bool {
        guard row.count > 0, let writes = row.bytes(0, 3) else { return false }
        let name = commit.write.byteList
        if stride(from: 0, to: writes.count, by: name.count).contains(where: { writes[$0...].starts(with: name) }) {
            return true
        }
        guard try row.number(0, 1, as: Int64.self) - commit.version <= PostgresStatement.keptWrites else {
            throw PostgresOutcome.lost(
                PostgresFailure(state: nil, message: "others have written to the store too often since")
            )
        }
        return false
    }

    // MARK: Whole stores

    /// Runs `body` in one write transaction, first on this schema's rows, then on those of another.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: PostgresWriter, _ reshaped: (Set<String>) throws -> PostgresWriter) throws -> R
    ) throws -> R {
        try schema.validate()
        let other = try PostgresCatalog(schema: schema, place: place)
        return try write { writer in try body(writer) { try writer.reshaped(to: other, rewriting: $0) } }
    }

    /// Checks every record, every index against the records in both directions, and the history, in one snapshot.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        try read { snapshot in
            var check = try PostgresCheck(snapshot)
            try check.run(progress)
            return check.findings
        }
    }

    /// Copies the store's rows at one moment to another name on the same server.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for a path that is not a place on this server, or if there already is a
    ///   store.
    public func backup(to path: String) throws {
        try requireOpen()
        let target: PostgresPlace
        do {
            target = try PostgresPlace(parsing: path)
        } catch {
            throw HabitStoreError(
                .unsupported,
                "a store on a server has no file to be copied; copy it into one with `\(OperatorCommand.name) copy`, or back up the server",
                at: .init(path: catalog.place)
            )
        }
        try PostgresServer(place.server).copy(place, to: target)
    }

    /// Closes the store. Connections belong to all stores of the server, and remain open.
    public func close() { state.withLock { $0.isClosed = true } }
}
