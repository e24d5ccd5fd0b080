import Foundation

/// A record of a transaction: its entity and its identifier.
///
/// It stands outside of the generic transactions that use it: sets and sorts of a type inside of one are not specialised.
struct RecordKey: Hashable {
    let entity: Int
    let id: UUID

    static func == (left: RecordKey, right: RecordKey) -> Bool {
        left.entity == right.entity && left.id.words == right.id.words
    }

    func hash(into hasher: inout Hasher) {
        let (high, low) = id.words
        hasher.combine(entity)
        hasher.combine(high)
        hasher.combine(low)
    }
}
