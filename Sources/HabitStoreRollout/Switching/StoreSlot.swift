import HabitStore
import Synchronization

/// A store that is opened when it is needed first, and by one thread.
final class StoreSlot: Sendable {
    private let store = Mutex<(any UserStoreBackend)?>(nil)

    /// The store, opened now if it is not.
    func get(_ open: () throws -> any UserStoreBackend) throws -> any UserStoreBackend {
        try store.withLock { store in
            if let store { return store }
            let opened = try open()
            store = opened
            return opened
        }
    }

    /// Closes the store; it is opened again when it is asked for.
    func close() {
        let closing = store.withLock { store in
            defer { store = nil }
            return store
        }
        closing?.close()
    }
}
