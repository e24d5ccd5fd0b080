import CLMDB
import HabitStore

extension LMDBTransaction {
    /// Whether a nested transaction may still become part of this one: nothing has failed, and no put found the map full.
    var mayGoOn: Bool { isActive && failure == nil && !core.wantsGrowth }

    /// Runs `body` in a transaction inside of this one, so that a throw undoes what it did, and nothing else.
    ///
    /// It may run on another thread, as long as this transaction's own thread waits: LMDB's lock stays with that one.
    /// Hazards: this transaction must not be used meanwhile, and none of its cursors may be open, since LMDB would have to
    /// keep a copy of each.
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
        // It may have become half a part of this transaction.
        guard returnCode == 0 else { throw error(returnCode, during: "joining a transaction") }
        return value
    }
}
