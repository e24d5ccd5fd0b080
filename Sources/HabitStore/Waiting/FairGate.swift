import Dispatch
import Foundation

/// Lets a limited number of threads pass at the same time, in the order of their arrival.
///
/// A leaving thread passes its place to the one that has waited longest, so that no thread starves when another returns
/// immediately. `@unchecked`: `lock` guards every stored variable.
package final class FairGate: @unchecked Sendable {
    private final class Waiter {
        let semaphore = DispatchSemaphore(value: 0)
        var isAdmitted = false
    }

    private let lock = NSLock()
    private var freePlaces: Int
    private var waiters: [Waiter] = []

    /// A gate with that many places, at least one.
    package init(places: Int) { freePlaces = max(1, places) }

    /// How many threads wait for a place.
    package var waitingCount: Int { lock.withLock { waiters.count } }

    /// Takes a place; false when there was none until the deadline.
    package func enter(until deadline: Deadline) -> Bool {
        lock.lock()
        if freePlaces > 0 {
            freePlaces -= 1
            lock.unlock()
            return true
        }
        let waiter = Waiter()
        waiters.append(waiter)
        lock.unlock()
        if waiter.semaphore.wait(timeout: deadline.dispatchTime) == .success { return true }
        lock.lock()
        defer { lock.unlock() }
        // Between the end of the wait and the lock, the place may have been handed over after all.
        if waiter.isAdmitted { return true }
        waiters.removeAll { $0 === waiter }
        return false
    }

    /// Gives a place back.
    package func leave() {
        lock.lock()
        defer { lock.unlock() }
        guard !waiters.isEmpty else {
            freePlaces += 1
            return
        }
        let next = waiters.removeFirst()
        next.isAdmitted = true
        next.semaphore.signal()
    }
}
