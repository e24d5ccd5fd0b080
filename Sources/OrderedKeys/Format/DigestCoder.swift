import Foundation
@_spi(Engines) import HabitStore

/// Codes the value of a stored digest: the depth (one byte), the number of records (8 bytes) and the sum (16 bytes), little-endian.
package enum DigestCoder {
    private static let length = 25

    /// Encodes a digest.
    package static func value(_ leaf: DigestLeaf) -> [UInt8] {
        var value = [UInt8(leaf.depth)]
        value.reserveCapacity(length)
        for word in [UInt64(bitPattern: leaf.digest.count), leaf.digest.low, leaf.digest.high] {
            withUnsafeBytes(of: word.littleEndian) { value.append(contentsOf: $0) }
        }
        return value
    }

    /// Decodes a digest.
    ///
    /// - Parameter first: the first identifier of its range.
    /// - Throws: `.corrupt` if the value is malformed.
    package static func leaf(_ value: UnsafeRawBufferPointer, first: UUID, path: String) throws -> DigestLeaf {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: value.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        guard value.count == length,
            let leaf = DigestLeaf(
                stored: first,
                depth: Int64(value[0]),
                digest: RecordDigest(count: Int64(bitPattern: word(1)), low: word(9), high: word(17))
            )
        else { throw damaged(path) }
        return leaf
    }

    /// The error for a malformed digest.
    package static func damaged(_ path: String) -> HabitStoreError {
        HabitStoreError.damage("a kept digest is none; run `\(OperatorCommand.name) check`", at: .init(path: path))
    }
}
