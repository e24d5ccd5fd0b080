import Crypto
import Foundation
import HabitStore

/// A digest over rows in their order: SHA-256 over each row's length, as 8 bytes little endian, and its bytes.
struct ReadDigest: Sendable, Equatable {
    private var hasher = SHA256()
    private(set) var rows = 0

    /// Takes a row in.
    mutating func add(_ record: EncodedRecord) {
        withUnsafeBytes(of: UInt64(record.bytes.count).littleEndian) { hasher.update(bufferPointer: $0) }
        record.bytes.withUnsafeBytes { hasher.update(bufferPointer: $0) }
        rows += 1
    }

    /// Takes a number in.
    mutating func add(_ number: Int) {
        withUnsafeBytes(of: UInt64(bitPattern: Int64(number)).littleEndian) { hasher.update(bufferPointer: $0) }
    }

    static func == (left: ReadDigest, right: ReadDigest) -> Bool {
        left.rows == right.rows && left.hasher.finalize() == right.hasher.finalize()
    }
}
