import Foundation

/// A random generator with a seed: SplitMix64, by Sebastiano Vigna (https://prng.di.unimi.it/splitmix64.c). Its numbers must never change: fixtures
/// are
/// rewritten from them, bit for bit.
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
    /// A random integer in a range.
    package mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// True in `percent` of a hundred cases.
    package mutating func chance(_ percent: Int) -> Bool { int(1...100) <= percent }

    /// A random element of a non-empty array.
    package mutating func pick<T>(_ elements: [T]) -> T { elements[int(0...elements.count - 1)] }

    /// A random identifier.
    mutating func identifier() -> UUID {
        let (high, low) = (next(), next())
        return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// A random element; nil if the collection is empty.
    mutating func pickAny<C: Collection>(_ elements: C) -> C.Element? { elements.randomElement(using: &self) }
}
