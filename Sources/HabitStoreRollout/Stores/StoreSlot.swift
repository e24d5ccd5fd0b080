import Foundation
@_spi(Engines) import HabitStore

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
