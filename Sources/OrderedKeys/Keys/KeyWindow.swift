@_spi(Engines) import HabitStore

/// The state of a walk that a window limits.
@frozen package struct KeyWindow {
    @usableFromInline var toPassOver: Int
    @usableFromInline var left: Int
    @usableFromInline package private(set) var passedOver = 0

    package init(_ window: FetchWindow) { (toPassOver, left) = (window.offset, window.limit ?? Int.max) }

    /// Whether a candidate is before the offset.
    @inlinable
    @inline(__always)
    package mutating func passesOver() -> Bool {
        guard toPassOver > 0 else { return false }
        toPassOver -= 1
        passedOver += 1
        return true
    }

    /// Whether to continue after a returned candidate.
    @inlinable
    @inline(__always)
    package mutating func goesOn() -> Bool {
        left -= 1
        return left > 0
    }
}
