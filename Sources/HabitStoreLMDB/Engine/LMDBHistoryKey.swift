import HabitStore

/// The key of a history record: token u64 and sequence u32, both big-endian.
struct LMDBHistoryKey: Equatable {
    static let length = 12

    let token: Int64
    /// 0 for the header, n for the n-th change.
    let sequence: UInt64

    init(token: Int64, sequence: UInt64) {
        self.token = token
        self.sequence = sequence
    }

    /// - Throws: `.corrupt` when the bytes are no key.
    init(_ key: UnsafeRawBufferPointer, path: String) throws {
        guard key.count == Self.length,
            let token = Int64(exactly: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))),
            (1...HistoryToken.greatest.rawValue).contains(token)
        else { throw LMDBError.error(.corrupt, "the history holds a key that is none", path: path) }
        self.token = token
        sequence = UInt64(UInt32(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    }

    var bytes: [UInt8] { withBytes { Array($0) } }

    /// Lends the key's bytes.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeTemporaryAllocation(byteCount: Self.length, alignment: 8) { key in
            key.storeBytes(of: UInt64(token).bigEndian, as: UInt64.self)
            key.storeBytes(of: UInt32(truncatingIfNeeded: sequence).bigEndian, toByteOffset: 8, as: UInt32.self)
            return try body(UnsafeRawBufferPointer(key))
        }
    }
}
