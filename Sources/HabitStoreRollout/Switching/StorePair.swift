import Foundation
import HabitStore
import Synchronization

/// Opens one of a user's stores; tests put a store in between that fails or hangs.
public typealias StoreOpener =
    @Sendable (StoreAddress, StoreAccess, Schema) throws -> any UserStoreBackend

/// The two stores of a user, each opened when it is needed first.
final class StorePair: Sendable {
    let directory: UserDirectory
    let schema: Schema
    private let opener: StoreOpener
    private let access: StoreAccess
    /// The files that the open stores were opened from.
    private let files = Mutex<[EngineName: FileIdentity]>([:])
    private let sqlite = StoreSlot()
    private let lmdb = StoreSlot()

    init(
        directory: UserDirectory,
        schema: Schema,
        access: StoreAccess = .readWrite,
        opener: @escaping StoreOpener
    ) {
        self.directory = directory
        self.schema = schema
        self.access = access
        self.opener = opener
    }

    /// Whether there is a file.
    func exists(_ engine: EngineName) -> Bool {
        var status = stat()
        return stat(directory.address(engine).path, &status) == 0
    }

    /// The store of an engine.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` when there is no file, and what is wrong with it.
    func store(_ engine: EngineName) throws -> any UserStoreBackend {
        closeIfMoved(engine)
        return try slot(engine).get { try open(engine, access) }
    }

    /// The store of an engine, made if there is none.
    func create(_ engine: EngineName) throws -> any UserStoreBackend {
        closeIfMoved(engine)
        return try slot(engine).get { try open(engine, .create) }
    }

    private func open(_ engine: EngineName, _ access: StoreAccess) throws -> any UserStoreBackend {
        let path = directory.address(engine).path
        let before = FileIdentity(path: path)
        let store = try opener(directory.address(engine), access, schema)
        let file = FileIdentity(path: path)
        // One that was exchanged meanwhile is found to have moved with the next look.
        files.withLock { $0[engine] = before ?? file }
        return store
    }

    /// Whether another file stands where an open store's was, or none. Readers cannot tell by themselves.
    func hasMoved(_ engine: EngineName) -> Bool {
        files.withLock { $0[engine] } != nil && !holds(engine)
    }

    /// Whether a store is open, on the file that stands there.
    func holds(_ engine: EngineName) -> Bool {
        guard let file = files.withLock({ $0[engine] }) else { return false }
        return FileIdentity(path: directory.address(engine).path) == file
    }

    /// What a store says of itself; nil when there is no file.
    func standing(_ engine: EngineName) throws -> Standing? {
        guard exists(engine) else {
            close(engine)
            return nil
        }
        closeIfMoved(engine)
        do {
            return try read(engine) { store, isRescued in
                var standing = try store.replicaRead { try self.standing(engine, $0) }
                standing.isRescued = isRescued
                return standing
            }
        } catch let error as HabitStoreError where error.code == .notFound || error.code == .closed {
            // The file was replaced under an open store: the one that is there now counts.
            close(engine)
            return try store(engine).replicaRead { try self.standing(engine, $0) }
        }
    }

    /// Reads a store, past its engine's library where that cannot open the file.
    func read<R>(_ engine: EngineName, _ body: (any UserStoreBackend, _ isRescued: Bool) throws -> R) throws -> R {
        let failure: HabitStoreError
        do {
            return try body(try store(engine), false)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            failure = error
        }
        let rescued: any UserStoreBackend
        do {
            rescued = try opener(directory.address(engine), .readOnly, schema)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            throw failure
        }
        defer { rescued.close() }
        return try body(rescued, true)
    }

    /// A handle to a file that was replaced reads what nobody else does, and what is copied from it is of no one moment.
    private func closeIfMoved(_ engine: EngineName) { if hasMoved(engine) { close(engine) } }

    /// Closes a store whose file was moved away or replaced, so that what stands in the user's folder is opened next.
    ///
    /// - Returns: whether the error says so.
    func closeIfMoved(_ error: HabitStoreError) -> Bool {
        guard error.code == .fileMoved else { return false }
        for engine in EngineName.allCases where directory.address(engine).path == error.location.path { close(engine) }
        return true
    }

    /// What a moment of a store says.
    func standing(_ engine: EngineName, _ replica: any ReplicaSnapshot) throws -> Standing {
        var state = try replica.rolloutState().map {
            try RolloutState(parsing: $0, path: directory.address(engine).path)
        }
        let owner = state?.owner
        state?.owner = nil
        return Standing(engine: engine, information: try replica.information(), state: state, owner: owner)
    }

    /// Closes one store; it is opened again when it is asked for.
    func close(_ engine: EngineName) {
        files.withLock { $0[engine] = nil }
        slot(engine).close()
    }

    /// Closes both; each is opened again when it is asked for.
    func release() { for engine in EngineName.allCases { close(engine) } }

    /// Closes both for good: work in the background that was left to itself opens none again.
    func close() { for engine in EngineName.allCases { slot(engine).close(isLast: true) } }

    private func slot(_ engine: EngineName) -> StoreSlot { engine == .sqlite ? sqlite : lmdb }
}
