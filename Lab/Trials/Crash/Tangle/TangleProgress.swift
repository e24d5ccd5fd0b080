import Foundation
import HabitStore
import Synchronization

/// The shared state of one process's threads: the open store, and when to end.
final class TangleProgress: Sendable {
    private let ended = Atomic<Bool>(false)
    private let paused = Atomic<Bool>(false)
    private let busy = Atomic<Int>(0)
    private let user = Mutex<SweptUser?>(nil)
    /// The last acknowledged write of this process.
    let acknowledged = Atomic<Int>(0)

    var isEnded: Bool { ended.load(ordering: .sequentiallyConsistent) }

    func end() { ended.store(true, ordering: .sequentiallyConsistent) }

    /// Waits until no operation is running; none starts until ``resume()``.
    ///
    /// - Returns: whether that happened in time.
    func pause(seconds: Double) -> Bool {
        paused.store(true, ordering: .sequentiallyConsistent)
        let deadline = ContinuousClock.now + .seconds(seconds)
        while busy.load(ordering: .sequentiallyConsistent) > 0 {
            guard ContinuousClock.now < deadline else { return false }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return true
    }

    func resume() { paused.store(false, ordering: .sequentiallyConsistent) }

    /// Runs an operation, after any pause.
    func doing(_ body: () -> Void) {
        while true {
            busy.add(1, ordering: .sequentiallyConsistent)
            guard paused.load(ordering: .sequentiallyConsistent) else { break }
            busy.subtract(1, ordering: .sequentiallyConsistent)
            Thread.sleep(forTimeInterval: 0.002)
        }
        body()
        busy.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// The open store; nil if there is none.
    var present: SweptUser? { user.withLock { $0 } }

    /// Replaces the open store and returns the old one.
    func exchange(_ other: SweptUser?) -> SweptUser? {
        user.withLock { user in
            defer { user = other }
            return user
        }
    }
}
