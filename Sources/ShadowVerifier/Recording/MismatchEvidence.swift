import Foundation

/// The data that showed a difference; enough to see it again.
enum MismatchEvidence: Sendable, Hashable, Codable {
    /// The record as each of the stores has it.
    case records(a: RecordedRecord, b: RecordedRecord)
    /// The answers of both stores to a query.
    case answers(RecordedQuery, a: QueryAnswer, b: QueryAnswer)
    /// The number of records in both stores.
    case counts(a: Int, b: Int)
    /// Two lists that have to be the same.
    case identifiers(RecordedIdentifiers, RecordedIdentifiers)
    /// Only a store could look again; why nothing more is recorded.
    case statement(String)
}

extension MismatchEvidence {
    /// What of it may be in a recording: no filter where values are not shown, and not more identifiers than there is room
    /// for.
    func recordable(within room: inout Int, showsValues: Bool) -> MismatchEvidence {
        let count: Int
        switch self {
        case .answers(_, let a, let b): count = a.identifiers.count + b.identifiers.count
        case .identifiers(let left, let right): count = left.identifiers.count + right.identifiers.count
        case .records, .counts, .statement: return self
        }
        guard count <= room else {
            return .statement(
                "its \(count) identifiers are not recorded, since a recording has \(MismatchRecording.maximumIdentifiers) "
                    + "at most"
            )
        }
        room -= count
        guard case .answers(var query, let a, let b) = self, !showsValues else { return self }
        query.filter = nil
        return .answers(query, a: a, b: b)
    }
}
