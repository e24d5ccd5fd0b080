/// The checksum that every encoded record carries in its bytes 4 to 7.
enum RecordChecksum {
    /// The low 32 bits of XXH64 over bytes 8 and up, seeded with the first four bytes as a little-endian number.
    ///
    /// - Precondition: the record has at least ``RecordLayout/headerSize`` bytes.
    static func compute(_ record: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = record.baseAddress else { return 0 }
        let header = UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))
        let hash = XXHash64.hash(
            base + RecordLayout.headerSize,
            count: record.count - RecordLayout.headerSize,
            seed: UInt64(header)
        )
        return UInt32(truncatingIfNeeded: hash)
    }
}
