/// The checksum that every encoded record carries in its bytes 4 to 7.
enum RecordChecksum {
    /// The low 32 bits of XXH64 over bytes 8 and up, seeded with the first four bytes as a little-endian number.
    static func compute(_ record: UnsafeRawBufferPointer) -> UInt32 {
        let header = UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        let body = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerSize...])
        return UInt32(truncatingIfNeeded: XXHash64.hash(body, seed: UInt64(header)))
    }
}
