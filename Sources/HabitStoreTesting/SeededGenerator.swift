import Foundation
import HabitStore

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

/// Random values, few enough of each kind that they coincide, some of them odd.
enum EdgeValues {
    static let texts: [String] = [
        "", "a", "A", "b", "ab", "Run", "run", "running", "\u{e9}", "e\u{301}", "e", "E\u{301}tude", "\u{1f600}",
        "\u{1f469}\u{200d}\u{1f680}", "\u{301}", "\0", "a\0b", " ", "%", "_", "'", "\"", "\\", "\u{ffff}", "\u{10ffff}",
        "stra\u{df}e", "STRASSE", "\u{3a9}", "\u{2126}", "\u{1100}\u{1161}", "\u{ac00}", "10", "9", "\r\n", "\u{600}",
        "o\u{302}\u{323}", "\u{1e9b}\u{323}", "\u{1f1e9}\u{1f1ea}", "\u{130}", "\u{131}", "z\u{308}\u{323}", "x",
        String(repeating: "y", count: 520), String(repeating: "y", count: 519) + "z",
    ]

    static let doubles: [Double] = [
        0, -0.0, 1, -1, 0.5, 2, 7.5, 0.1, 1e300, -1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 3,
    ]

    static func text(_ generator: inout SeededGenerator) -> String {
        guard generator.chance(10) else { return generator.pick(texts) }
        return generator.pick(texts) + generator.pick(texts)
    }

    static func int(_ generator: inout SeededGenerator) -> Int {
        generator.chance(4) ? generator.pick([Int.min, Int.max, Int.min + 1, Int.max - 1]) : generator.int(-2...8)
    }

    static func double(_ generator: inout SeededGenerator) -> Double {
        generator.chance(50) ? generator.pick(doubles) : Double(generator.int(-40...40)) / 4
    }

    static func date(_ generator: inout SeededGenerator) -> Date {
        let seconds =
            generator.chance(15)
            ? generator.pick([0, 0.1, -978_307_200.5, 63_113_904_000, 1e12, -1e12, 700_000_000.123_456])
            : 700_000_000 + Double(generator.int(0...20)) * 43_200
        return Date(timeIntervalSinceReferenceDate: seconds)
    }

    static func id(_ generator: inout SeededGenerator) -> UUID {
        let (high, low) = (generator.next(), generator.next())
        var bytes = withUnsafeBytes(of: high) { Array($0) } + withUnsafeBytes(of: low) { Array($0) }
        // Some identifiers share their first bytes, so that only later ones decide their order.
        if generator.chance(20) { bytes.replaceSubrange(0..<8, with: [0, 0, 0, 0, 0, 0, 0, 255]) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
