import Foundation
import HabitStore

/// One question that a read transaction put to its store, and what came of it, in a form that can be put to another store.
struct RecordedRead: Sendable {
    /// What was asked.
    enum Question: Sendable {
        /// The rows of a fetch, in order. The caller may have stopped before their end.
        case rows(@Sendable (any ReadTransaction) throws -> PreparedFetch, count: Int, isCut: Bool)
        /// How many rows a fetch has.
        case count(@Sendable (any ReadTransaction) throws -> PreparedFetch)
        /// The record of an identifier.
        case record(entity: Int, id: UUID)
    }

    /// What was asked.
    let question: Question
    /// What came of it: a digest of the rows in order, or a number.
    let answer: ReadDigest
}
