import Foundation
import Synchronization

/// Work that may hang, on a thread of its own, where it begins at once. A child task would begin when the cooperative pool comes
/// to it, and would be waited for by whoever fails meanwhile, before anything that hangs is let go.
package final class BegunWork<R: Sendable>: Sendable {
    private struct State {
        var result: Result<R, any Error>?
        var waiting: CheckedContinuation<R, any Error>?
    }

    private let state = Mutex(State())

    /// Begins it.
    package init(_ body: @escaping @Sendable () throws -> R) {
        Thread.detachNewThread { [self] in
            let result = Result { try body() }
            let waiting = state.withLock { state in
                state.result = result
                return state.waiting
            }
            waiting?.resume(with: result)
        }
    }

    /// Waits for its end; only once.
    package func value() async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<R, any Error>? in
                if state.result == nil { state.waiting = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
