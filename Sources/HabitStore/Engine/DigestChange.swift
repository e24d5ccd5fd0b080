import Foundation

/// What one change of a record adds to its leaf's digest.
struct DigestChange: Comparable {
    let id: UUID
    let digest: RecordDigest

    /// In the order of the identifiers.
    static func < (left: DigestChange, right: DigestChange) -> Bool { left.id.words < right.id.words }

    /// What a batch of new records adds, in the order of their identifiers, which is that in which it is needed.
    static func append(
        _ batch: RecordBatch,
        _ layout: RecordLayout,
        _ form: CanonicalForm,
        to changes: inout [DigestChange]
    ) throws {
        for place in batch.placesByIdentifier {
            try form.write(batch[place], layout)
            changes.append(DigestChange(id: batch.identifier(at: place), digest: RecordDigest(form.bytes)))
        }
    }
}
