import Dispatch
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Lets one thread write at a time; a thread that already writes gets an error instead of waiting for itself for ever.
///
/// `@unchecked`: `guardian` guards `owner`.
@_spi(Engines) public final class WriterLock: @unchecked Sendable {
    private let lock = NSLock()
    private let guardian = NSLock()
    private var owner: Thread?

    /// Creates an unlocked lock.
    public init() {}

    /// Runs `body` while holding the lock.
    public func hold<R>(_ body: () throws -> R) throws -> R {
        let current = Thread.current
        guard guardian.withLock({ owner !== current }) else {
            throw HabitStoreError.nestedWrite(path: nil)
        }
        lock.lock()
        guardian.withLock { owner = current }
        defer {
            guardian.withLock { owner = nil }
            lock.unlock()
        }
        return try body()
    }
}

extension HabitStoreError {
    /// The error for a write that was begun inside of another one of the same store, which would wait for itself.
    package static func nestedWrite(path: String?) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "a write transaction was begun inside of another one of the same store; use the one that is open",
            at: .init(path: path)
        )
    }

    /// The error for a write that another thread's has kept from beginning for longer than a write waits.
    package static func busyWriter(path: String?) -> HabitStoreError {
        HabitStoreError(
            .busy,
            "another thread holds the write lock of the store longer than the stated wait; try again later",
            at: .init(path: path)
        )
    }
}

/// Lets small writes to one store that arrive together share one commit, and so one disk sync.
///
/// One thread leads: it begins the engine's transaction and runs its own write. Then it lends the transaction to the waiting
/// threads, one after the other in the order of their arrival. Each runs its write on its own thread, in a part of the transaction
/// that can be undone separately. Then the leader commits, and all of them get the outcome. A write without others waiting is a
/// transaction like any other. A write that arrives too late leads the next commit.
///
/// `@unchecked`: `lock` guards the stored variables; the shared transaction is used by one thread at a time, while the leader
/// waits.
package final class SharedCommit<Place>: @unchecked Sendable {
    /// A waiting thread and its next call.
    private final class Waiter {
        enum Call {
            case none, lead
            case join(Place)
            case committed
            case failed(any Error)
        }

        let called = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        var call = Call.none
    }

    /// How many writes join a leader at most: what a failing commit takes along.
    package static var maximumMembers: Int { 64 }

    /// The nanoseconds after the beginning of a transaction during which writes may join it: this limits how long finished parts
    /// wait for others. Set it before the first write, or not at all.
    package var window: UInt64 = 10_000_000
    private let path: String?
    private let mayGoOn: @Sendable (Place) -> Bool
    private let lock = NSLock()
    private var isLed = false
    private var waiting: [Waiter] = []
    /// The thread whose write is running.
    private var thread: pthread_t?

    /// Makes a line of writers.
    ///
    /// - Parameters:
    ///   - path: the store's file, for errors.
    ///   - mayGoOn: whether another write may still join a transaction.
    package init(path: String?, mayGoOn: @escaping @Sendable (Place) -> Bool) {
        (self.path, self.mayGoOn) = (path, mayGoOn)
    }

    /// How many threads wait for their turn.
    package var waitingCount: Int { lock.withLock { waiting.count } }

    /// Runs a write: in its own transaction, which others may join, or inside another write's.
    ///
    /// - Parameters:
    ///   - deadline: until when to wait for the turn.
    ///   - lead: begins the engine's transaction, runs the write, calls its argument with the transaction and the time at which it
    ///     began (nanoseconds of `DispatchTime`), and commits. All members throw what it throws.
    ///   - join: runs the write inside the leader's transaction; a throw undoes that part.
    /// - Throws: the errors of `lead` and `join`, or of the leader's commit; ``HabitStoreError/Code/busy`` if the deadline passed;
    ///   ``HabitStoreError/Code/unsupported`` inside another write of the same thread.
    package func write<R>(
        until deadline: DispatchTime,
        leading lead: (_ gather: (Place, UInt64) -> Void) throws -> R,
        joining join: (Place) throws -> R
    ) throws -> R {
        let me = pthread_self()
        lock.lock()
        if let thread, pthread_equal(thread, me) != 0 {
            lock.unlock()
            throw HabitStoreError.nestedWrite(path: path)
        }
        guard isLed else {
            isLed = true
            thread = me
            lock.unlock()
            return try self.lead(lead)
        }
        let waiter = Waiter()
        waiting.append(waiter)
        lock.unlock()
        guard case .join(let place) = try turn(of: waiter, until: deadline) else {
            lock.withLock { thread = me }
            return try self.lead(lead)
        }
        lock.withLock { thread = me }
        let result = Result { try join(place) }
        waiter.done.signal()
        // No deadline: the write is part of a transaction, and must learn its outcome.
        waiter.called.wait()
        if case .failed(let error) = waiter.call { throw error }
        return try result.get()
    }

    private func turn(of waiter: Waiter, until deadline: DispatchTime) throws -> Waiter.Call {
        if waiter.called.wait(timeout: deadline) == .success { return waiter.call }
        let isGivenUp = lock.withLock {
            guard let place = waiting.firstIndex(where: { $0 === waiter }) else { return false }
            waiting.remove(at: place)
            return true
        }
        guard isGivenUp else {
            // Between the end of the wait and the lock, the turn came after all.
            waiter.called.wait()
            return waiter.call
        }
        throw HabitStoreError.busyWriter(path: path)
    }

    private func lead<R>(_ body: (_ gather: (Place, UInt64) -> Void) throws -> R) throws -> R {
        var members: [Waiter] = []
        let result = Result { try body { members = gather($0, since: $1) } }
        // Before the members are woken: they may return with their next write immediately.
        lock.withLock {
            thread = nil
            isLed = !waiting.isEmpty
            guard isLed else { return }
            let next = waiting.removeFirst()
            next.call = .lead
            next.called.signal()
        }
        for member in members {
            if case .failure(let error) = result { member.call = .failed(error) } else { member.call = .committed }
            member.called.signal()
        }
        return try result.get()
    }

    /// Lets those that wait run their writes inside of the transaction.
    private func gather(_ place: Place, since beginning: UInt64) -> [Waiter] {
        var members: [Waiter] = []
        while members.count < Self.maximumMembers, mayGoOn(place),
            DispatchTime.now().uptimeNanoseconds &- beginning < window, let member = takeWaiter()
        {
            member.call = .join(place)
            member.called.signal()
            member.done.wait()
            members.append(member)
        }
        return members
    }

    private func takeWaiter() -> Waiter? { lock.withLock { waiting.isEmpty ? nil : waiting.removeFirst() } }
}

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

/// The instant at which a wait ends, on a clock that no change of the date moves.
package struct Deadline: Sendable {
    private let uptimeNanoseconds: UInt64

    /// A deadline that many seconds from now: at least none, at most a day.
    package static func after(seconds: Double) -> Self {
        // A NaN compares false with everything, so `max` of it must not come first.
        let bounded = seconds > 0 ? min(seconds, 86_400) : 0
        return Self(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds &+ UInt64(bounded * 1_000_000_000))
    }

    /// The longest wait there is: for the closing of files, which must not be given up.
    package static var farthest: Self { .after(seconds: 86_400) }

    /// The same instant for Dispatch.
    package var dispatchTime: DispatchTime { DispatchTime(uptimeNanoseconds: uptimeNanoseconds) }

    /// The remaining time in whole milliseconds, rounded up; 0 after the deadline.
    package var remainingMilliseconds: Int32 {
        let now = DispatchTime.now().uptimeNanoseconds
        guard uptimeNanoseconds > now else { return 0 }
        return Int32(clamping: (uptimeNanoseconds - now + 999_999) / 1_000_000)
    }

    /// Whether the wait is over.
    package var hasPassed: Bool { DispatchTime.now().uptimeNanoseconds >= uptimeNanoseconds }
}
