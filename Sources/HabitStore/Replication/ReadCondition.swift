import Synchronization

/// A number that all who use a store on this machine can see, and the value that it has for as long as the store is the one to
/// be read; for a store that other machines reach, the epoch in which it serves as well.
@_spi(Engines) public struct ReadCondition: @unchecked Sendable {
    // The number is atomic, and its owner keeps the memory alive.
    private let number: UnsafeMutablePointer<Atomic<UInt64>>
    private let value: UInt64
    /// The epoch in which the store has to be authoritative, by its own word; nil where the number says enough.
    public let epoch: Int?

    /// - Parameters:
    ///   - number: stays where it is for as long as this is used.
    ///   - value: what it is for as long as the condition holds.
    ///   - epoch: the epoch in which the store has to be authoritative, by its own word.
    public init(_ number: UnsafeMutablePointer<Atomic<UInt64>>, is value: UInt64, epoch: Int? = nil) {
        self.number = number
        self.value = value
        self.epoch = epoch
    }

    /// Whether the condition holds. Costs one atomic load.
    public var holds: Bool { number.pointee.load(ordering: .acquiring) == value }
}

/// A read was refused before its closure saw anything of the store: its condition no longer holds, or the store may not be read.
@_spi(Engines) public struct ReadRefused: Error, Sendable {
    /// Makes the refusal.
    public init() {}
}
