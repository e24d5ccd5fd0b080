import HabitStore
import Synchronization

/// Who is using a user's open files, and the route in force.
///
/// An operation begins with one atomic addition and ends with one subtraction, and reads the route in between; it takes no
/// lock and allocates nothing. A route that was replaced is let go when no operation is under way any more: whoever began
/// later has read its successor.
///
/// The same count says whether the user's stores may be closed. That happens by one compare-and-swap from a count of zero, so
/// never under an operation, and one that begins later sees it before it looks at the route.
final class Leases: Sendable {
    /// The user's stores are closed.
    private static let shut: UInt64 = 1 << 63
    /// There was an operation since the mark was taken away last.
    private static let used: UInt64 = 1 << 62
    /// There are routes that were replaced and not let go yet.
    private static let replaced: UInt64 = 1 << 61
    /// How many operations are under way.
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

    /// An operation begins.
    ///
    /// - Parameter open: opens the user, whose stores are closed.
    /// - Returns: what keeps the user's stores open for as long as it lives.
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

    /// The same for work in the background, for whose sake nothing is opened or kept open; nil while the stores are closed.
    func beginWork() -> Lease? {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        guard before & Self.shut == 0, let user = user.load(ordering: .acquiring) else {
            end()
            return nil
        }
        return Lease(self, user.takeUnretainedValue(), leavesNoMark: before & Self.used == 0)
    }

    /// An operation ends.
    ///
    /// - Parameter leavesNoMark: whether what was done does not count as use.
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

    /// The route in force, for whoever is in no operation.
    var present: Route? { kept.withLock { $0.current } }

    /// What is open, or being opened or closed, for whoever is in no operation.
    var openUser: OpenUser? { kept.withLock { $0.user } }

    /// A user is being opened; operations find the stores closed until ``open()``.
    func install(_ user: OpenUser) {
        kept.withLock { kept in
            kept.user = user
            self.user.store(Unmanaged.passUnretained(user), ordering: .releasing)
        }
    }

    /// Puts another route in force.
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

    /// Lets go of what was replaced, unless somebody has begun an operation: it may have begun before the last replacement.
    private func letGo() {
        let unused = kept.withLock { kept -> [Route] in
            guard word.load(ordering: .sequentiallyConsistent) & Self.count == 0 else { return [] }
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            defer { kept.replaced = [] }
            return kept.replaced
        }
        // Outside of the lock, since it may close what the routes held last.
        _ = consume unused
    }

    // MARK: Opening and closing

    /// Whether the user's stores are closed.
    var isShut: Bool { word.load(ordering: .acquiring) & Self.shut != 0 }

    /// Whether nobody uses the stores, and nobody has since this was asked last.
    func isUnused() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.count) == 0 else { return false }
        guard word & Self.used != 0 else { return true }
        self.word.bitwiseAnd(~Self.used, ordering: .relaxed)
        return false
    }

    /// Has operations find the stores closed, if none is under way.
    func shut() -> Bool {
        let word = word.load(ordering: .relaxed)
        guard word & (Self.shut | Self.used | Self.count) == 0 else { return false }
        return self.word.compareExchange(
            expected: word,
            desired: Self.shut,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Lets go of all that was open; only while no operation can begin or is under way.
    func clear() {
        let unused = kept.withLock { kept in
            current.store(nil, ordering: .sequentiallyConsistent)
            user.store(nil, ordering: .releasing)
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            return exchange(&kept, with: Kept())
        }
        _ = consume unused
    }

    /// Has operations find the stores open.
    func open() { word.bitwiseAnd(~Self.shut, ordering: .sequentiallyConsistent) }
}

/// Keeps a user's stores open: its end is the end of the operation.
struct Lease: ~Copyable {
    private let leases: Leases
    /// What is open.
    let user: OpenUser
    private let leavesNoMark: Bool

    fileprivate init(_ leases: Leases, _ user: OpenUser, leavesNoMark: Bool = false) {
        (self.leases, self.user, self.leavesNoMark) = (leases, user, leavesNoMark)
    }

    deinit { leases.end(leavesNoMark: leavesNoMark) }
}
