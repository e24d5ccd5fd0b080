import Foundation
@_spi(Engines) import HabitStore
import Synchronization

extension StorePair {
    enum Versions: Sendable {
        /// They are refused, but can be read.
        case current
        /// Each is opened with its own schema, for callers that need only the stores' status. The plan knows the schemas of files that do not contain
        /// theirs.
        case eachAsWritten((any SchemaMigrationPlan.Type)?)
    }

    /// Whether the stores may have different versions.
    var mayDiffer: Bool {
        if case .eachAsWritten = versions { return true }
        return false
    }
}

/// A user's stores, each opened when it is first needed. A rollout uses two of them, which callers name.
final class StorePair: Sendable {
    let directory: UserDirectory
    let schema: Schema
    let known: Engines
    private let access: StoreAccess
    private let versions: Versions
    /// The identities of the files that the open stores were opened from.
    private let files = Mutex<[EngineName: StoreIdentity]>([:])
    private let slots: [EngineName: StoreSlot]

    init(
        directory: UserDirectory,
        schema: Schema,
        access: StoreAccess = .readWrite,
        engines: Engines,
        versions: Versions = .current
    ) {
        self.directory = directory
        self.schema = schema
        self.access = access
        self.versions = versions
        known = engines
        slots = Dictionary(uniqueKeysWithValues: engines.names.map { ($0, StoreSlot()) })
    }

    /// The address of an engine's store, whether or not it exists.
    func address(_ engine: EngineName) -> StoreAddress { known.address(engine, of: directory) }

    /// Whether there is a store.
    ///
    /// - Throws: why this is unknown.
    func exists(_ engine: EngineName) throws -> Bool { try known.identity(of: address(engine)) != nil }

    /// The store of an engine.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no file, and errors of the file.
    func store(_ engine: EngineName) throws -> any UserStoreBackend {
        closeIfMoved(engine)
        return try slot(engine).get { try open(engine, access) }
    }

    /// The store of an engine, created if there is none.
    func create(_ engine: EngineName) throws -> any UserStoreBackend {
        closeIfMoved(engine)
        return try slot(engine).get { try open(engine, .create) }
    }

    private func open(_ engine: EngineName, _ access: StoreAccess) throws -> any UserStoreBackend {
        let address = address(engine)
        let before = try known.identity(of: address)
        let store = try openFile(address, access)
        let file: StoreIdentity?
        do {
            file = try before ?? known.identity(of: address)
        } catch {
            store.close()
            throw error
        }
        // If the file was replaced meanwhile, the next check notices.
        let twin = files.withLock { files in
            files[engine] = file
            return file == nil ? nil : files.first { $0.key != engine && $0.value == file }?.key
        }
        guard let twin else { return store }
        store.close()
        files.withLock { $0[engine] = nil }
        throw twins(twin, engine)
    }

    /// Opens a store; for reading, one of another version with its own schema. A migration may have stopped between a user's two stores, and their
    /// status reads the same in every version.
    private func openFile(_ address: StoreAddress, _ access: StoreAccess) throws -> any UserStoreBackend {
        do {
            return try known.open(address, access, schema: schema)
        } catch let error as HabitStoreError where Self.otherVersion.contains(error.code) {
            switch versions {
            case .eachAsWritten(let plan):
                return try known.open(address, access, schema: try writtenSchema(of: address, plan))
            case .current:
                guard access == .readOnly, error.code != .schemaMismatch else { throw error }
                return try known.openAsWritten(address, .readOnly, schema: schema, plan: nil)
            }
        }
    }

    /// The errors of opening a store with another schema than its own.
    private static let otherVersion: Set<HabitStoreError.Code> = [.migrationRequired, .newerVersion, .schemaMismatch]

    /// The schema of a store's records. If only the app's opener can read the file, the plan gives the schema, from the version.
    private func writtenSchema(of address: StoreAddress, _ plan: (any SchemaMigrationPlan.Type)?) throws -> Schema {
        do {
            let stored = try known.storedSchema(of: address, plan: plan)
            return Schema(shapes: stored.entities, version: stored.version)
        } catch {
            guard let plan,
                let schema = plan.schema(of: try StoreMigrator(address, engines: known, plan: plan).version())
            else { throw error }
            return schema
        }
    }

    /// Makes sure that two stores have the same schema version, since records have other meanings in other versions.
    ///
    /// - Throws: ``HabitStoreError/Code/migrationRequired`` if they do not.
    static func requireOneVersion(_ store: any UserStoreBackend, _ other: any UserStoreBackend) throws {
        guard store.schema.version != other.schema.version else { return }
        throw HabitStoreError(
            .migrationRequired,
            "the store has schema version \(other.schema.version), and the user's other one \(store.schema.version): "
                + "a program with the migration plan must open the user first",
            at: .init(path: other.path)
        )
    }

    /// The migration to finish if the user's stores have different versions because a migrating process died between the two; nil if they have the
    /// same, or that is unknown.
    ///
    /// - Parameter found: the status of the stores; no others are opened, since one may hang.
    func unfinishedMigration(_ found: ReplicaStatuses) -> UnfinishedMigration? {
        let versions = found.statuses.compactMap { status in
            (try? store(status.engine).schema.version).map { (engine: status.engine, version: $0) }
        }
        guard let first = versions.first, versions.contains(where: { $0.version != first.version }) else { return nil }
        return UnfinishedMigration(versions: versions)
    }

    /// Why a user cannot be moved between two engines: both may name the same server store in different ways. nil if they have separate places, or
    /// that cannot be checked now.
    func objection(toTwins engine: EngineName, _ other: EngineName) -> HabitStoreError? {
        guard let file = try? known.identity(of: address(engine)), file == (try? known.identity(of: address(other)))
        else { return nil }
        return twins(engine, other)
    }

    private func twins(_ engine: EngineName, _ other: EngineName) -> HabitStoreError {
        HabitStoreError(
            .invalidValue,
            "the engines \(engine) and \(other) share one store of the user's; give each its own server or place",
            at: .init(path: address(other).path)
        )
    }

    /// Whether the file of an open store was replaced or removed, which readers do not notice.
    func hasMoved(_ engine: EngineName) -> Bool {
        files.withLock { $0[engine] } != nil && !holds(engine)
    }

    /// Whether a store is open, on the file that is in place now.
    func holds(_ engine: EngineName) -> Bool {
        guard let file = files.withLock({ $0[engine] }) else { return false }
        return known.holds(file, at: address(engine))
    }

    /// The status of a store; nil if there is no file.
    func status(_ engine: EngineName) throws -> ReplicaStatus? {
        if !holds(engine), try !exists(engine) {
            close(engine)
            return nil
        }
        closeIfMoved(engine)
        do {
            return try read(engine) { store, isRescued in
                var status = try store.replicaBookkeeping { try self.status(engine, $0) }
                status.isRescued = isRescued
                return status
            }
        } catch let error as HabitStoreError where error.code == .notFound || error.code == .closed {
            // The file was replaced while the store was open; the present one counts.
            close(engine)
            guard try exists(engine) else { return nil }
            return try store(engine).replicaBookkeeping { try self.status(engine, $0) }
        }
    }

    /// Reads a store, without its engine's library if that cannot open the file.
    func read<R>(_ engine: EngineName, _ body: (any UserStoreBackend, _ isRescued: Bool) throws -> R) throws -> R {
        let failure: HabitStoreError
        do {
            return try body(try store(engine), false)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            failure = error
        }
        let rescued: any UserStoreBackend
        do {
            rescued = try known.open(address(engine), .readOnly, schema: schema)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            throw failure
        }
        defer { rescued.close() }
        return try body(rescued, true)
    }

    /// A handle to a replaced file reads outdated data, and a copy made through it would mix two moments.
    private func closeIfMoved(_ engine: EngineName) { if hasMoved(engine) { close(engine) } }

    /// Closes a store whose file was moved or replaced, so that the file in the user's folder is opened next.
    ///
    /// - Returns: whether the error says so.
    func closeIfMoved(_ error: HabitStoreError) -> Bool {
        guard error.code == .fileMoved else { return false }
        for engine in known.names where address(engine).path == error.location.path { close(engine) }
        return true
    }

    /// Closes a store that was opened while its disk was read-only, if the disk is writable now: the handle would refuse writes forever.
    ///
    /// - Returns: whether the store was closed.
    func closeIfWritable(_ error: HabitStoreError) -> Bool {
        guard error.code == .permissionDenied,
            let engine = known.names.first(where: { address($0).path == error.location.path }),
            known.mayWrite(address(engine))
        else { return false }
        close(engine)
        return true
    }

    /// The status of a store in a snapshot.
    func status(_ engine: EngineName, _ replica: any ReplicaSnapshot) throws -> ReplicaStatus {
        var state = try replica.rolloutState().map {
            try RolloutState(parsing: $0, path: address(engine).path)
        }
        let (owner, machine) = (state?.owner, state?.machine)
        state?.owner = nil
        state?.machine = nil
        return ReplicaStatus(
            engine: engine,
            path: address(engine).path,
            information: try replica.information(),
            state: state,
            owner: owner,
            machine: machine.map(Machine.init(parsing:)),
            isShared: known.isShared(engine),
            logSuffixes: (try? known.provider(engine) as? any FileEngineProvider)?.copiedSidecars ?? []
        )
    }

    /// Closes one store; the next use opens it again.
    func close(_ engine: EngineName) {
        files.withLock { $0[engine] = nil }
        slots[engine]?.close()
    }

    /// Closes all stores; the next use opens each again.
    func release() { for engine in known.names { close(engine) } }

    /// Closes all stores for good: abandoned background work cannot open them again.
    func close() { for slot in slots.values { slot.close(isLast: true) } }

    private func slot(_ engine: EngineName) throws -> StoreSlot {
        guard let slot = slots[engine] else {
            _ = try known.provider(engine)
            throw HabitStoreError(.internalInconsistency, "the engine \"\(engine)\" has no place for a store")
        }
        return slot
    }
}

/// A store that is opened when it is first needed, by one thread.
///
/// Opening may hang with the disk: callers that need the store then wait, but closing the slot does not.
final class StoreSlot: Sendable {
    private struct State {
        var store: (any UserStoreBackend)?
        var isOpening = false
        /// Incremented by each closing, so that a store that was being opened meanwhile is closed again.
        var closings = 0
        var isEnded = false
    }

    private let changed = NSCondition()
    /// Guarded by ``changed``.
    private nonisolated(unsafe) var state = State()

    /// The store, opened now if it is closed.
    ///
    /// - Throws: what `open` throws; ``HabitStoreError/Code/closed`` if the slot was closed meanwhile.
    func get(_ open: () throws -> any UserStoreBackend) throws -> any UserStoreBackend {
        changed.lock()
        while state.isOpening, !state.isEnded { changed.wait() }
        guard !state.isEnded else {
            changed.unlock()
            throw HabitStoreError(.closed, "the user's store was closed; open it again")
        }
        if let store = state.store {
            changed.unlock()
            return store
        }
        state.isOpening = true
        let closings = state.closings
        changed.unlock()
        let opened = Result { try open() }
        changed.lock()
        state.isOpening = false
        let isKept = state.closings == closings
        if isKept, case .success(let store) = opened { state.store = store }
        changed.broadcast()
        changed.unlock()
        let store = try opened.get()
        guard isKept else {
            store.close()
            throw HabitStoreError(
                .closed,
                "the store was closed while it was being opened",
                at: .init(path: store.path)
            )
        }
        return store
    }

    /// Closes the store.
    ///
    /// - Parameter isLast: whether it stays closed; otherwise the next use opens it again.
    func close(isLast: Bool = false) {
        changed.lock()
        let closing = state.store
        state.store = nil
        state.closings += 1
        state.isEnded = state.isEnded || isLast
        changed.broadcast()
        changed.unlock()
        closing?.close()
    }
}

/// The role and epoch of a store. A change of the store must name those that it has seen, so that a process that was suspended during a move fails.
struct StorePlace: Sendable, Equatable {
    var role: StoreRole
    var epoch: Int
}
