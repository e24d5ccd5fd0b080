@_spi(Engines) import HabitStore

/// The key of a history record: token u64 and sequence u32, both big-endian.
@frozen package struct HistoryKey: Equatable {
    private static let length = 12

    @usableFromInline package let token: Int64
    /// 0 for the header, n for the n-th change.
    @usableFromInline package let sequence: UInt64

    package init(token: Int64, sequence: UInt64) {
        self.token = token
        self.sequence = sequence
    }

    /// - Throws: `.corrupt` if the bytes are not a valid key.
    package init(_ key: UnsafeRawBufferPointer, path: String) throws {
        guard key.count == Self.length,
            let token = Int64(exactly: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))),
            (1...HistoryToken.greatest.rawValue).contains(token)
        else { throw HabitStoreError.damage("the history holds a key that is none", at: .init(path: path)) }
        self.token = token
        sequence = UInt64(UInt32(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    }

    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// Lends the key's bytes.
    @inlinable
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeTemporaryAllocation(byteCount: 12, alignment: 8) { key in
            key.storeBytes(of: UInt64(token).bigEndian, as: UInt64.self)
            key.storeBytes(of: UInt32(truncatingIfNeeded: sequence).bigEndian, toByteOffset: 8, as: UInt32.self)
            return try body(UnsafeRawBufferPointer(key))
        }
    }
}
