import Foundation
import HabitStore
import Synchronization

/// What the threads of one process of the tangle share: the store that is open, and when to end.
final class TangleProgress: Sendable {
    private let ended = Atomic<Bool>(false)
    private let paused = Atomic<Bool>(false)
    private let busy = Atomic<Int>(0)
    private let user = Mutex<SweptUser?>(nil)
    /// The last write of this process that was acknowledged.
    let acknowledged = Atomic<Int>(0)

    var isEnded: Bool { ended.load(ordering: .sequentiallyConsistent) }

    func end() { ended.store(true, ordering: .sequentiallyConsistent) }

    /// Waits until nothing is being done, and nothing is begun until ``resume()``.
    ///
    /// - Returns: whether that came about in time.
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

    /// Runs one operation, unless everything is paused.
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

    /// The store that is open; nil while there is none.
    var present: SweptUser? { user.withLock { $0 } }

    /// Exchanges the store that is open.
    func exchange(_ other: SweptUser?) -> SweptUser? {
        user.withLock { user in
            defer { user = other }
            return user
        }
    }
}
