import HabitStore
import Synchronization

/// The route in force, and who is using it.
///
/// An operation begins with one atomic addition and ends with one subtraction, and reads the route in between; it takes no
/// lock and allocates nothing. A route that was replaced is let go when no operation is under way any more: whoever began
/// later has read its successor.
///
/// The same count says whether the user's stores may be closed. That happens by one compare-and-swap from a count of zero, so
/// never under an operation, and one that begins later sees it before it looks at the route.
final class RouteReference: Sendable {
    /// The user's stores are closed.
    private static let shut: UInt64 = 1 << 63
    /// There was an operation since the mark was taken away last.
    private static let used: UInt64 = 1 << 62
    /// There are routes that were replaced and not let go yet.
    private static let replaced: UInt64 = 1 << 61
    /// How many operations are under way.
    private static let count: UInt64 = replaced - 1

    private struct Kept {
        var current: Route?
        var replaced: [Route] = []
    }

    private let word = Atomic<UInt64>(RouteReference.shut)
    private let current = Atomic<Unmanaged<Route>?>(nil)
    private let kept = Mutex(Kept())

    // MARK: Operations

    /// An operation begins; ``end()`` has to follow, whatever this says.
    ///
    /// - Returns: whether the user's stores are open, and stay so until then.
    @inline(__always)
    func begin() -> Bool {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        if before & Self.used == 0 { word.bitwiseOr(Self.used, ordering: .relaxed) }
        return before & Self.shut == 0
    }

    /// The same for work in the background, for whose sake nothing is opened or kept open.
    ///
    /// - Returns: whether the stores are open, and ``endWork(_:)`` has to follow; and whether they had been used.
    func beginWork() -> (isOpen: Bool, wasUsed: Bool) {
        let before = word.add(1, ordering: .sequentiallyConsistent).oldValue
        let isOpen = before & Self.shut == 0
        if !isOpen { end() }
        return (isOpen, before & Self.used != 0)
    }

    /// Work in the background ends.
    func endWork(wasUsed: Bool) {
        // What it did by the way of operations was no use of the user's.
        if !wasUsed { word.bitwiseAnd(~Self.used, ordering: .relaxed) }
        end()
    }

    /// An operation ends.
    @inline(__always)
    func end() {
        let after = word.subtract(1, ordering: .sequentiallyConsistent).newValue
        if after & (Self.replaced | Self.count) == Self.replaced { letGo() }
    }

    /// The route in force; only within an operation.
    @inline(__always)
    func load() -> Route? { current.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue() }

    // MARK: Changing

    /// The route in force, for whoever is in no operation.
    var present: Route? { kept.withLock { $0.current } }

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

    /// Lets go of all routes; only while the stores are closed.
    func clear() {
        let unused = kept.withLock { kept -> [Route] in
            current.store(nil, ordering: .sequentiallyConsistent)
            word.bitwiseAnd(~Self.replaced, ordering: .relaxed)
            defer { kept = Kept() }
            return kept.replaced + (kept.current.map { [$0] } ?? [])
        }
        _ = consume unused
    }

    /// Has operations find the stores open.
    func open() { word.bitwiseAnd(~Self.shut, ordering: .sequentiallyConsistent) }
}
