import Foundation

/// What references that a transaction has set lead to.
///
/// It stands outside of the generic transactions that use it: sets of a type inside of one are not specialised.
struct ReferenceTargets {
    private(set) var all: Set<RecordKey> = []
    /// Some that were noted lately, each in a place that follows from it: most records of a load refer to the same few. Empty
    /// until there is a batch, since a write of one record has no use for it.
    private var recent: [RecordKey?] = []

    mutating func note(_ record: RecordView, since old: RecordView?, by references: [StoredReference]) throws {
        for reference in references {
            try reference.forEachNewTarget(of: record, since: old) {
                note(RecordKey(entity: reference.destination, id: $0))
            }
        }
    }

    /// Notes what all records of a batch refer to.
    mutating func note(_ batch: RecordBatch, by references: [StoredReference]) throws {
        guard !references.isEmpty else { return }
        if recent.isEmpty { recent = [RecordKey?](repeating: nil, count: 256) }
        for place in 0..<batch.count { try note(batch[place], since: nil, by: references) }
    }

    private mutating func note(_ key: RecordKey) {
        guard !recent.isEmpty else {
            all.insert(key)
            return
        }
        let (high, low) = key.id.words
        let mixed = (high ^ low) &* 0x9E37_79B9_7F4A_7C15
        let place = Int(truncatingIfNeeded: mixed &>> 56)
        guard recent[place] != key else { return }
        recent[place] = key
        all.insert(key)
    }
}
