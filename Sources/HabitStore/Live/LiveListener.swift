import Synchronization

/// Waits until a store reaches another moment.
final class LiveListener: Sendable {
    private struct State {
        var token: HistoryToken?
        /// Whether the moment has changed since the last wait.
        var isNew = false
        var error: (any Error)?
        var isOver = false
        var waiting: UnsafeContinuation<Void, Never>?

        mutating func takeWaiting() -> UnsafeContinuation<Void, Never>? {
            defer { waiting = nil }
            return waiting
        }
    }

    private let state = Mutex(State())

    /// - Parameter isAnew: whether the moment is another one also where the token is the same.
    func tell(_ token: HistoryToken, isAnew: Bool) {
        state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard state.token != token || isAnew else { return nil }
            (state.token, state.isNew) = (token, true)
            return state.takeWaiting()
        }?.resume()
    }

    func end(_ error: any Error) {
        state.withLock { state in
            if !state.isOver { state.error = error }
            return state.takeWaiting()
        }?.resume()
    }

    func cancel() {
        state.withLock { state in
            state.isOver = true
            return state.takeWaiting()
        }?.resume()
    }

    /// Waits until the moment has become another one since this was asked last.
    ///
    /// - Returns: the token; nil once it was cancelled.
    func next() async throws -> HistoryToken? {
        while true {
            let (token, isOver) = try state.withLock { state in
                if let error = state.error { throw error }
                defer { state.isNew = false }
                return (state.isNew ? state.token : nil, state.isOver)
            }
            if token != nil || isOver { return isOver ? nil : token }
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let isDue = state.withLock { state in
                        if state.error != nil || state.isOver || state.isNew { return true }
                        state.waiting = continuation
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            } onCancel: {
                cancel()
            }
        }
    }
}
