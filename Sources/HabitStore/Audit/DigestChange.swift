import Foundation

/// What one change of a record adds to its leaf's digest.
struct DigestChange: Comparable {
    let id: UUID
    let digest: RecordDigest

    /// In the order of the identifiers.
    static func < (left: DigestChange, right: DigestChange) -> Bool { left.id.words < right.id.words }
}
