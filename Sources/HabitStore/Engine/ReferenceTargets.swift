import Foundation

/// What references that a transaction has set lead to.
///
/// It stands outside of the generic transactions that use it: sets of a type inside of one are not specialised.
struct ReferenceTargets {
    private(set) var all: Set<RecordKey> = []
    /// Some that were noted lately, each in a place that follows from it: most records refer to the same few.
    private var recent = [RecordKey?](repeating: nil, count: 256)

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
        for place in 0..<batch.count { try note(batch[place], since: nil, by: references) }
    }

    private mutating func note(_ key: RecordKey) {
        let (high, low) = key.id.words
        let mixed = (high ^ low) &* 0x9E37_79B9_7F4A_7C15
        let place = Int(truncatingIfNeeded: mixed &>> 56)
        guard recent[place] != key else { return }
        recent[place] = key
        all.insert(key)
    }
}
