import Foundation
@_spi(Engines) import HabitStore

/// The totals of a store's other rows, stored in its own row: nothing else reveals that rows are missing.
enum PostgresTotals {
    /// The length of an entity's digest: its number (2 bytes), the number of its records (8) and their sum (16), big-endian.
    private static let length = 26

    /// Encodes the digests of the entities, in the order of their numbers.
    static func bytes(_ digests: [Int16: RecordDigest]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digests.count * length)
        for (entity, digest) in digests.sorted(by: { $0.key < $1.key }) {
            append(entity, &bytes)
            append(digest.count, &bytes)
            append(digest.high, &bytes)
            append(digest.low, &bytes)
        }
        return bytes
    }

    /// Decodes the digests of the entities.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for malformed bytes.
    static func digests(_ bytes: [UInt8], place: String) throws -> [Int16: RecordDigest] {
        guard bytes.count.isMultiple(of: length) else {
            throw HabitStoreError.damage(
                "the digests in the store's row are none; restore a backup",
                at: .init(path: place)
            )
        }
        return bytes.withUnsafeBytes { bytes in
            var digests: [Int16: RecordDigest] = [:]
            for start in stride(from: 0, to: bytes.count, by: length) {
                func number<Number: FixedWidthInteger>(_ offset: Int) -> Number {
                    Number(bigEndian: bytes.loadUnaligned(fromByteOffset: start + offset, as: Number.self))
                }
                digests[number(0)] = RecordDigest(count: number(2), low: number(18), high: number(10))
            }
            return digests
        }
    }

    /// The checksum of the metadata: the sum of the hashes of its values, each after its key and a NUL.
    static func sum(of metadata: [String: String]) -> [UInt8] {
        var digest = RecordDigest()
        for (key, value) in metadata {
            Array("\(key)\0\(value)".utf8).withUnsafeBytes { digest += RecordDigest($0) }
        }
        var bytes: [UInt8] = []
        append(digest.high, &bytes)
        append(digest.low, &bytes)
        return bytes
    }

    private static func append(_ number: some FixedWidthInteger, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
