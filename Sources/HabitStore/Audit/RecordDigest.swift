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
