import Foundation

/// An identifier as two words, compared and hashed without a call into Foundation.
struct IdentifierKey: BitwiseCopyable, Equatable {
    /// The first eight bytes, as they lie.
    let first: UInt64
    /// The other eight.
    let second: UInt64

    /// The identifier at an address, at which there must be sixteen bytes.
    @inline(__always)
    init(_ address: UnsafeRawPointer) {
        first = address.loadUnaligned(as: UInt64.self)
        second = address.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    init(_ id: UUID) {
        (first, second) = withUnsafeBytes(of: id.uuid) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// The identifier of zeros.
    static let zero = IdentifierKey(first: 0, second: 0)

    /// The identifier.
    var id: UUID {
        withUnsafeBytes(of: (first, second)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// A number of which every bit depends on every byte.
    var hash: UInt64 {
        @inline(__always) get { ProbeTable.mix(first ^ ProbeTable.mix(second)) }
    }

    /// Byte order: negative, 0 or positive like `memcmp`.
    @inline(__always)
    func order(comparedWith other: IdentifierKey) -> Int {
        if first != other.first { return first.bigEndian < other.first.bigEndian ? -1 : 1 }
        return second == other.second ? 0 : (second.bigEndian < other.second.bigEndian ? -1 : 1)
    }
}
