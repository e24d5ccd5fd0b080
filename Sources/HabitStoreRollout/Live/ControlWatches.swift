import CFutex
import Foundation
import Synchronization

/// Waits for writes by any process to users who are followed in this one: one thread per 120 of them.
final class ControlWatches: Sendable {
    /// A registration, which ends when it is released.
    final class Watched: Sendable {
        fileprivate let watch: ControlWatch
        fileprivate let wake: @Sendable () -> Void
        fileprivate let group: Group

        fileprivate init(_ watch: ControlWatch, _ group: Group, _ wake: @escaping @Sendable () -> Void) {
            (self.watch, self.group, self.wake) = (watch, group, wake)
        }

        deinit { group.remove(ObjectIdentifier(self)) }
    }

    /// The users of one thread.
    fileprivate final class Group: Sendable {
        private struct Weak {
            weak var watched: Watched?
        }

        private let members = Mutex<[ObjectIdentifier: Weak]>([:])
        /// This process's own bell, rung when members are added or removed.
        private nonisolated(unsafe) let bell: UnsafeMutablePointer<Atomic<UInt32>>

        init() {
            bell = .allocate(capacity: 1)
            bell.initialize(to: Atomic(1))
        }

        deinit {
            bell.deinitialize(count: 1)
            bell.deallocate()
        }

        private var word: UnsafePointer<UInt32> { UnsafeRawPointer(bell).assumingMemoryBound(to: UInt32.self) }

        var count: Int { members.withLock { $0.count } }

        func add(_ watched: Watched) {
            members.withLock { $0[ObjectIdentifier(watched)] = Weak(watched: watched) }
            ring()
        }

        func remove(_ watched: ObjectIdentifier) {
            members.withLock { $0[watched] = nil }
            ring()
        }

        private func ring() {
            bell.pointee.store(0, ordering: .sequentiallyConsistent)
            habitstore_futex_wake(word)
        }

        func setBell() -> (word: UnsafePointer<UInt32>, value: UInt32) {
            bell.pointee.store(1, ordering: .sequentiallyConsistent)
            return (word, 1)
        }

        var present: [Watched] { members.withLock { $0.values.compactMap(\.watched) } }
    }

    private struct State {
        var groups: [Group] = []
        /// Where the system cannot wait on several words, followers poll.
        var isUnsupported = false
    }

    static let shared = ControlWatches()

    private static let mostInGroup = 120
    /// The longest wait, in nanoseconds: a user released during a wait is kept until it ends.
    private static let waitNanoseconds: Int64 = 1_000_000_000
    /// The pause after a file was truncated during a wait, until it is recreated.
    private static let restSeconds = 0.05

    private let state = Mutex(State())

    /// Calls `wake` after writes to a user, until the result is released.
    ///
    /// - Returns: nil if the system cannot wait for it.
    func add(_ watch: ControlWatch, _ wake: @escaping @Sendable () -> Void) -> Watched? {
        let (watched, begun) = state.withLock { state -> (Watched?, Group?) in
            guard !state.isUnsupported else { return (nil, nil) }
            let free = state.groups.first { $0.count < Self.mostInGroup }
            let group = free ?? Group()
            let watched = Watched(watch, group, wake)
            group.add(watched)
            if free == nil { state.groups.append(group) }
            return (watched, free == nil ? group : nil)
        }
        if let begun {
            let thread = Thread { self.wait(for: begun) }
            thread.name = "HabitStore.changes"
            thread.start()
        }
        return watched
    }

    /// Ends an empty group, so that no user is added to it any more.
    private func end(_ group: Group) -> Bool {
        state.withLock { state in
            guard group.count == 0 else { return false }
            state.groups.removeAll { $0 === group }
            return true
        }
    }

    private func wait(for group: Group) {
        var numbers: [ObjectIdentifier: UInt64] = [:]
        while true {
            // The bells first: writes from here on ring them.
            var bells = [group.setBell()]
            let members = group.present
            if members.isEmpty, end(group) { return }
            bells += members.map { $0.watch.setBell() }
            var known: [ObjectIdentifier: UInt64] = [:]
            for member in members {
                let number = member.watch.changeNumber
                if let last = numbers[ObjectIdentifier(member)], last != number { member.wake() }
                known[ObjectIdentifier(member)] = number
            }
            numbers = known
            // The words must stay mapped during the wait.
            let code = withExtendedLifetime(members) {
                habitstore_futex_wait_any(bells.map(\.word), bells.map(\.value), bells.count, Self.waitNanoseconds)
            }
            switch code {
            case 0, ETIMEDOUT: break
            case EFAULT: Thread.sleep(forTimeInterval: Self.restSeconds)
            // The system lacks the call, or forbids it.
            default: return giveUp()
            }
        }
    }

    private func giveUp() {
        state.withLock { state in
            state.isUnsupported = true
            state.groups = []
        }
    }
}
