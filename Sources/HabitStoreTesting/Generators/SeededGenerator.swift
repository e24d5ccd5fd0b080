import Foundation

/// A random generator whose numbers follow from a seed: SplitMix64, by Sebastiano Vigna
/// (https://prng.di.unimi.it/splitmix64.c). The numbers must never change: fixtures are written again with them, bit for bit.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Makes a generator; the same seed gives the same numbers everywhere.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var result = state
        result = (result ^ (result >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }
}

extension SeededGenerator {
    /// A whole number of a range.
    package mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// Whether something happens that happens `percent` times out of a hundred.
    package mutating func chance(_ percent: Int) -> Bool { int(1...100) <= percent }

    /// One of some elements, of which there must be one.
    package mutating func pick<T>(_ elements: [T]) -> T { elements[int(0...elements.count - 1)] }

    /// An identifier.
    mutating func identifier() -> UUID {
        let (high, low) = (next(), next())
        return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// One of some elements, or nil where there is none.
    mutating func pickAny<C: Collection>(_ elements: C) -> C.Element? { elements.randomElement(using: &self) }
}
