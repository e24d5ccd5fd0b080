/// The checksum that every encoded record carries in its bytes 4 to 7.
@usableFromInline
enum RecordChecksum {
    /// The low 32 bits of XXH3 over bytes 8 and up. (The bytes before are compared with what they must be.)
    ///
    /// - Precondition: the record has at least ``RecordLayout/headerSize`` bytes.
    @usableFromInline
    static func compute(_ record: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = record.baseAddress else { return 0 }
        let count = record.count - RecordLayout.headerSize
        return UInt32(truncatingIfNeeded: XXHash3.hash(base + RecordLayout.headerSize, count: count))
    }
}
