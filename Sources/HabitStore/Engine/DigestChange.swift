import Foundation

/// What one change of a record adds to its leaf's digest.
struct DigestChange: Comparable {
    let id: UUID
    let digest: RecordDigest

    /// In the order of the identifiers.
    static func < (left: DigestChange, right: DigestChange) -> Bool { left.id.words < right.id.words }

    /// Appends the changes for a batch of new records, in the order of their identifiers, in which they are needed.
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
