import Foundation

/// A digest of a set of records: how many there are, and the sum, modulo 2^128, of the 128-bit XXH3 hashes of their
/// canonical forms.
///
/// A sum does not depend on the order, can be kept up to date from what changes, and does not cancel where the same
/// record stands twice, as exclusive or does.
@_spi(Engines) public struct RecordDigest: Sendable, Hashable, Codable {
    /// The number of records.
    public var count: Int64
    /// The sum's low half.
    public var low: UInt64
    /// The sum's high half.
    public var high: UInt64

    /// No records.
    public init() { (count, low, high) = (0, 0, 0) }

    /// A digest from its parts.
    public init(count: Int64, low: UInt64, high: UInt64) { (self.count, self.low, self.high) = (count, low, high) }

    /// One record.
    public init(_ canonical: UnsafeRawBufferPointer) {
        let hash = XXHash3.hash128(canonical)
        (count, low, high) = (1, hash.low, hash.high)
    }

    /// Adds the records of another digest.
    public static func += (digest: inout RecordDigest, other: RecordDigest) {
        let (low, carries) = digest.low.addingReportingOverflow(other.low)
        digest.low = low
        digest.high = digest.high &+ other.high &+ (carries ? 1 : 0)
        digest.count &+= other.count
    }

    /// Takes the records of another digest away.
    public static func -= (digest: inout RecordDigest, other: RecordDigest) {
        let (low, borrows) = digest.low.subtractingReportingOverflow(other.low)
        digest.low = low
        digest.high = digest.high &- other.high &- (borrows ? 1 : 0)
        digest.count &-= other.count
    }
}

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

/// The identifiers from one to another, both included, in the order of their bytes.
@_spi(Engines) public struct IdentifierRange: Sendable, Hashable {
    /// The first.
    public let first: UUID
    /// The last.
    public let last: UUID

    /// A range from its ends.
    public init(first: UUID, last: UUID) { (self.first, self.last) = (first, last) }

    /// Every identifier.
    public static let all = IdentifierRange(
        first: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        last: UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))
    )

    /// Whether the range holds an identifier.
    public func contains(_ id: UUID) -> Bool { !id.isBefore(first) && !last.isBefore(id) }
}

extension UUID {
    /// The next identifier in the order of the bytes; nil after the last.
    package var successor: UUID? {
        var next = uuid
        let isLast = withUnsafeMutableBytes(of: &next) { bytes in
            for place in bytes.indices.reversed() {
                bytes[place] &+= 1
                if bytes[place] != 0 { return false }
            }
            return true
        }
        return isLast ? nil : UUID(uuid: next)
    }
}
