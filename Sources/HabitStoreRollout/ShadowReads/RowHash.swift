import Foundation
import HabitStore

/// A 128-bit hash of a row, to compare rows within this process: two lanes of folded 64-bit products, mixed as in XXH3 and wyhash, with keys that
/// each process draws at random, so that no one can construct two records with the same hash.
///
/// It takes a few nanoseconds where SHA-256 takes hundreds, on the path of every reader.
struct RowHash: Sendable, Equatable {
    private(set) var high: UInt64
    private(set) var low: UInt64

    private static let keys: SIMD4<UInt64> = SIMD4.random(in: .min ... .max)

    /// The hash of bytes and their number.
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

    /// The initial value of a hash over hashes.
    static let start = RowHash(UnsafeRawBufferPointer(start: nil, count: 0))

    /// Adds a hash in order.
    mutating func append(_ other: RowHash) { mix(other.high, other.low, Self.keys) }

    /// Adds a hash regardless of order; equal pairs do not cancel each other.
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
