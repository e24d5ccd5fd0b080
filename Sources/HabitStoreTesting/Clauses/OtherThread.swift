import Dispatch
import Foundation
import Synchronization

/// Runs `body` on a new thread and waits for it.
func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let result = Mutex<Result<Void, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let outcome = Result { try body() }
        result.withLock { $0 = outcome }
        done.signal()
    }
    done.wait()
    try require(result.withLock { $0 }, "the other thread's result").get()
}
