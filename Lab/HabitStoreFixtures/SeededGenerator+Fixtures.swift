import Foundation
import HabitStoreTesting

/// The random values of fixtures. They must never change, or the fixtures could not be rewritten bit for bit.
extension SeededGenerator {
    /// A number from 0 up to, but not including, `bound`. Written out, since the standard library's method may change.
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
