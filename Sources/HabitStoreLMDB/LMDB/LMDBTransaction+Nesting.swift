import CLMDB
import HabitStore

extension LMDBTransaction {
    /// Whether a nested transaction may still join this one: nothing has failed, and no put found the map full.
    var mayGoOn: Bool { isActive && failure == nil && !core.wantsGrowth }

    /// Runs `body` in a nested transaction. If it throws, only its own changes are undone.
    ///
    /// It may run on another thread while this transaction's own thread waits: LMDB's lock stays with the latter. Hazards: this
    /// transaction must not be used meanwhile, and must have no open cursors, because LMDB would have to keep a copy of each.
    func withNested<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
        let parent = try lentHandle()
        var handle: OpaquePointer?
        let beginning = mdb_txn_begin(core.environment, parent, 0, &handle)
        guard beginning == 0, let handle else {
            throw LMDBError.error(beginning, during: "beginning to write", path: core.path)
        }
        let nested = nested(handle)
        let value: T
        do {
            value = try body(nested)
            if let failure = nested.failure { throw failure }
        } catch {
            if let handle = nested.takeHandle() { mdb_txn_abort(handle) }
            throw error
        }
        guard let handle = nested.takeHandle() else { throw Self.ended(core.path) }
        let returnCode = mdb_txn_commit(handle)
        // The nested transaction may have been joined in part.
        guard returnCode == 0 else { throw error(returnCode, during: "joining a transaction") }
        return value
    }
}
