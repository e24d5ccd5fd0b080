/// An identifier as two numbers, ordered like its bytes.
@frozen package struct IdentifierOrder: Comparable, BitwiseCopyable {
    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    /// The identifier at the end of a key.
    ///
    /// - Precondition: the key has at least ``KeyFormat/identifierLength`` bytes.
    @inlinable
    @inline(__always)
    package init(endOf key: UnsafeRawBufferPointer) {
        let start = key.count - 16
        high = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        low = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
    }

    /// The identifier's bytes, in memory order as in keys.
    @inlinable package var bytes: (UInt64, UInt64) { (high.bigEndian, low.bigEndian) }

    @inlinable
    @inline(__always)
    package static func < (left: IdentifierOrder, right: IdentifierOrder) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
