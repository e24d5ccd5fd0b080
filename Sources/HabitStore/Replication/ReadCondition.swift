import Synchronization

/// A number that all who use a store can see, and the value that it has for as long as the store is the one to be read.
@_spi(Engines) public struct ReadCondition: @unchecked Sendable {
    // The number is atomic, and whoever made this keeps it where it is.
    private let number: UnsafeMutablePointer<Atomic<UInt64>>
    private let value: UInt64

    /// - Parameters:
    ///   - number: stays where it is for as long as this is used.
    ///   - value: what it is for as long as the condition holds.
    public init(_ number: UnsafeMutablePointer<Atomic<UInt64>>, is value: UInt64) {
        self.number = number
        self.value = value
    }

    /// Whether the condition holds. Costs one atomic load.
    public var holds: Bool { number.pointee.load(ordering: .acquiring) == value }
}

/// A read was refused before its closure ran: its condition no longer holds, or the store is not to be read.
@_spi(Engines) public struct ReadRefused: Error, Sendable {
    /// Makes the refusal.
    public init() {}
}
