import Foundation
import HabitStore

/// 128 bits of a row, to tell rows apart in this process: two lanes of folded 64-bit products, as XXH3 and wyhash mix, under
/// keys that are drawn anew by each process, so that nobody can prepare two records which look alike.
///
/// It costs a few nanoseconds where SHA-256 costs hundreds, and it is on the path of whoever reads.
struct RowHash: Sendable, Equatable {
    private(set) var high: UInt64
    private(set) var low: UInt64

    private static let keys: SIMD4<UInt64> = SIMD4.random(in: .min ... .max)

    /// The hash of bytes, their number included.
    init(_ bytes: UnsafeRawBufferPointer) {
        let keys = Self.keys
        high = keys[0] ^ UInt64(bytes.count)
        low = keys[1] &+ UInt64(bytes.count)
        var place = 0
        while bytes.count &- place >= 16 {
            mix(
                bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: place &+ 8, as: UInt64.self),
                keys
            )
            place &+= 16
        }
        guard place < bytes.count else { return }
        var rest: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &rest) { $0.copyMemory(from: .init(rebasing: bytes[place...])) }
        mix(rest.0, rest.1, keys)
    }

    /// The beginning of a hash over hashes.
    static let start = RowHash(UnsafeRawBufferPointer(start: nil, count: 0))

    /// Takes in what stands behind all that was taken in before: the order counts.
    mutating func append(_ other: RowHash) { mix(other.high, other.low, Self.keys) }

    /// Takes in what stands anywhere: the order does not count, and a pair does not cancel.
    mutating func add(_ other: RowHash) {
        high &+= other.high
        low &+= other.low
    }

    @inline(__always)
    private mutating func mix(_ first: UInt64, _ second: UInt64, _ keys: SIMD4<UInt64>) {
        let left = (high ^ first).multipliedFullWidth(by: keys[2] ^ second)
        let right = (low ^ second).multipliedFullWidth(by: keys[3] &+ first)
        high = (left.high ^ left.low) &+ low
        low = (right.high ^ right.low) ^ left.high
    }
}
