import Foundation

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers from the same seed on every platform, so that fixtures can be
/// written again bit for bit. It must never change.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, `bound`. Written out, since the library's own way of choosing may change.
    mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True in `percent` of 100 cases.
    mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }

    mutating func pick<T>(_ choices: [T]) -> T { choices[number(below: choices.count)] }

    /// A version 4 UUID.
    mutating func identifier() -> UUID {
        var bytes = withUnsafeBytes(of: (next().bigEndian, next().bigEndian)) { Array($0) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
