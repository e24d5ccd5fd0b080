import Foundation

/// The digest of an entity's records whose identifiers share a prefix.
///
/// An entity's leaves partition all identifiers. A leaf that grows beyond ``maximumCount`` records is replaced by sixteen, one for
/// each next half byte. So two stores with the same records may have different leaves, but one always lies within the other, and
/// their sums can be compared.
@_spi(Engines) public struct DigestLeaf: Sendable, Hashable, Codable {
    /// Records a leaf holds before it is divided: what has to be read to find one difference, on each side.
    public static let maximumCount = 1_024
    /// The half bytes of an identifier.
    public static let maximumDepth = 32

    /// The least identifier of the range.
    public let first: UUID
    /// How many half bytes the identifiers of the range share: 0 for all identifiers, 32 for a single one.
    public let depth: Int
    /// The digest of the records.
    public var digest: RecordDigest

    /// A leaf from its parts. The half bytes of `first` after `depth` must be zero.
    public init(first: UUID, depth: Int, digest: RecordDigest = RecordDigest()) {
        (self.first, self.depth, self.digest) = (first, depth, digest)
    }

    /// More records than any leaf has had, by far: a leaf with more than ``maximumCount`` is divided.
    private static let greatestCount: UInt64 = 1 << 32

    /// A leaf from what a file says, for engines; nil for what no store has written.
    public init?(stored first: UUID, depth: Int64, digest: RecordDigest) {
        guard (0...Int64(Self.maximumDepth)).contains(depth), digest.count.magnitude <= Self.greatestCount else {
            return nil
        }
        self.init(first: first, depth: Int(depth), digest: digest)
        let isAligned = withUnsafeBytes(of: first.uuid) { bytes in
            (self.depth..<Self.maximumDepth).allSatisfy { half in
                bytes[half / 2] & (half.isMultiple(of: 2) ? 0xF0 : 0x0F) == 0
            }
        }
        guard isAligned else { return nil }
    }

    /// Whether leaves, ascending, divide all identifiers among them, as those of an entity do: none is left out, and none is in
    /// two of them.
    public static func divideAll(_ leaves: [DigestLeaf]) -> Bool {
        var expected: UUID? = IdentifierRange.all.first
        for leaf in leaves {
            guard leaf.first == expected else { return false }
            expected = leaf.range.last.successor
        }
        return expected == nil
    }

    /// The leaf of all identifiers.
    public static let root = DigestLeaf(first: IdentifierRange.all.first, depth: 0)

    /// The identifiers that the leaf stands for.
    public var range: IdentifierRange {
        var last = first.uuid
        withUnsafeMutableBytes(of: &last) { bytes in
            for half in depth..<Self.maximumDepth { bytes[half / 2] |= half.isMultiple(of: 2) ? 0xF0 : 0x0F }
        }
        return IdentifierRange(first: first, last: UUID(uuid: last))
    }

    /// The sixteen leaves that it is divided into, ascending and without records.
    var children: [DigestLeaf] {
        (0..<16).map { next in
            var first = first.uuid
            withUnsafeMutableBytes(of: &first) { bytes in
                bytes[depth / 2] |= UInt8(depth.isMultiple(of: 2) ? next << 4 : next)
            }
            return DigestLeaf(first: UUID(uuid: first), depth: depth + 1)
        }
    }
}
