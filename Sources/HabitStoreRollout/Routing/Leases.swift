import HabitStore
import Synchronization

/// Counts the users of a user's open files, and holds the route in force.
///
/// An operation begins with one atomic addition, ends with one subtraction, and reads the route in between, without a lock or an allocation. Replaced
/// routes are released when no operation is running: later operations have read their successor.
///
/// The same count decides whether the user's stores may be closed. Closing is one compare-and-swap from a count of zero, so it never happens during
/// an operation, and later operations notice it before they read the route.
final class Leases: Sendable {
    /// The user's stores are closed.
    private static let shut: UInt64 = 1 << 63
    /// There was an operation since this bit was last cleared.
    private static let used: UInt64 = 1 << 62
    /// There are replaced routes that were not released yet.
    private static let replaced: UInt64 = 1 << 61
    /// The number of running operations.
    private static let count: UInt64 = replaced - 1

    private struct Kept {
        var user: OpenUser?
        var current: Route?
        var replaced: [Route] = []
    }

    private let word = Atomic<UInt64>(Leases.shut)
    private let user = Atomic<Unmanaged<OpenUser>?>(nil)
    private let current = Atomic<Unmanaged<Route>?>(nil)
    private let kept = Mutex(Kept())

    // MARK: Operations

    /// Begins an operation.
    ///
    /// - Parameter open: opens the user's stores if they are closed.
    /// - Returns: a lease, which keeps the user's stores open as long as it lives.
    @inline(__always)
    func begin(_ open: () throws -> OpenUser) rethrows -> Lease {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        if before & Self.used == 0 { word.bitwiseOr(Self.used, ordering: .relaxed) }
        if before & Self.shut == 0, let user = user.load(ordering: .acquiring) {
            return Lease(self, user.takeUnretainedValue())
        }
        do {
            return Lease(self, try open())
        } catch {
            end()
            throw error
        }
    }

    /// The same for background work, which does not open the stores or keep them open; nil while they are closed.
    func beginWork() -> Lease? {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        guard before & Self.shut == 0, let user = user.load(ordering: .acquiring) else {
            end()
            return nil
        }
        return Lease(self, user.takeUnretainedValue(), leavesNoMark: before & Self.used == 0)
    }

    /// Ends an operation.
    ///
    /// - Parameter leavesNoMark: whether the operation does not count as use.
    @inline(__always)
    fileprivate func end(leavesNoMark: Bool = false) {
        if leavesNoMark { word.bitwiseAnd(~Self.used, ordering: .relaxed) }
        let after = word.subtract(1, ordering: .sequentiallyConsistent).newValue
        if after & (Self.replaced | Self.count) == Self.replaced { letGo() }
    }

    /// The route in force; only within an operation.
    @inline(__always)
    func load() -> Route? { current.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue() }

    // MARK: Changing

    /// The route in force, for callers outside an operation.
    var present: Route? { kept.withLock { $0.current } }

    /// The user who is open, being opened or being closed, for callers outside an operation.
    var openUser: OpenUser? { kept.withLock { $0.user } }

    /// Sets the user who is being opened; operations find the stores closed until ``open()``.
    func install(_ user: OpenUser) {
        kept.withLock { kept in
            kept.user = user
            self.user.store(Unmanaged.passUnretained(user), ordering: .releasing)
        }
    }

    /// Replaces the route in force.
    func store(_ route: Route?) {
        kept.withLock { kept in
            if let old = kept.current {
                kept.replaced.append(old)
                word.bitwiseOr(Self.replaced, ordering: .relaxed)
            }
            kept.current = route
            current.store(route.map { Unmanaged.passUnretained($0) }, ordering: .sequentiallyConsistent)
        }
    }

    /// Releases the replaced routes, unless an operation is running, which may have begun before the last replacement.
    private func letGo() {
        let unused = kept.withLock { kept -> [Route] in
            guard word.load(ordering: .sequentiallyConsistent) & Self.count == 0 else { return [] }
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            defer { kept.replaced = [] }
            return kept.replaced
        }
        // Outside the lock, since it may close what only the routes still held.
        _ = consume unused
    }

    // MARK: Opening and closing

    /// Whether the user's stores are closed.
    var isShut: Bool { word.load(ordering: .acquiring) & Self.shut != 0 }

    /// Whether the stores are unused now, and were since the last call.
    func isUnused() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.count) == 0 else { return false }
        guard word & Self.used != 0 else { return true }
        self.word.bitwiseAnd(~Self.used, ordering: .relaxed)
        return false
    }

    /// Marks the stores as closed, unless an operation is running.
    func shut() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.used | Self.count) == 0 else { return false }
        return self.word.compareExchange(
            expected: word,
            desired: Self.shut,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Releases everything that was open; only while no operation is running or can begin.
    func clear() {
        let unused = kept.withLock { kept in
            current.store(nil, ordering: .sequentiallyConsistent)
            user.store(nil, ordering: .releasing)
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            return exchange(&kept, with: Kept())
        }
        _ = consume unused
    }

    /// Marks the stores as open.
    func open() { word.bitwiseAnd(~Self.shut, ordering: .sequentiallyConsistent) }
}

/// Keeps a user's stores open; the operation ends with it.
struct Lease: ~Copyable {
    private let leases: Leases
    let user: OpenUser
    private let leavesNoMark: Bool

    fileprivate init(_ leases: Leases, _ user: OpenUser, leavesNoMark: Bool = false) {
        (self.leases, self.user, self.leavesNoMark) = (leases, user, leavesNoMark)
    }

    deinit { leases.end(leavesNoMark: leavesNoMark) }
}
