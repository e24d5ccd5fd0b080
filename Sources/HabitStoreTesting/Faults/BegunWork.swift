import Foundation
import Synchronization

/// Work that may hang, started immediately on its own thread. A child task would start only when the cooperative pool gets to it, and a caller that
/// fails meanwhile would wait for it before it releases anything that hangs.
package final class BegunWork<R: Sendable>: Sendable {
    private struct State {
        var result: Result<R, any Error>?
        var waiting: CheckedContinuation<R, any Error>?
    }

    private let state = Mutex(State())

    /// Starts the work.
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

    /// Waits for the result; call it only once.
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
