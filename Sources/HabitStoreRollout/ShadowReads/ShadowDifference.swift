import Foundation
import HabitStore

/// A question that two stores answered differently at one token.
struct ShadowDifference: Sendable {
    /// How the answers differ.
    enum Kind: String, Sendable {
        /// Other records, or other contents of them.
        case records
        /// The same records in another order.
        case order
        case count
        /// One store failed, or both did for different reasons.
        case error
    }

    /// How many records to name.
    static let namedRecords = 3

    let kind: Kind
    let token: HistoryToken
    /// The question, without its literals.
    let shape: String
    /// The two answers, without the user's values.
    let answers: (mine: String, theirs: String)
    /// Records that differ, at most ``namedRecords``; none if a store was past the token.
    var records: [UUID] = []
    /// Whether both stores were asked again, because one was past the caller's token.
    var isRerun = false

    /// One line, without the user's values.
    var message: String {
        let what =
            switch kind {
            case .records: "other records"
            case .order: "the same records in another order"
            case .count: "another count"
            case .error: "another outcome"
            }
        let ids = records.map(\.uuidString).joined(separator: ", ")
        return "a shadow read gave \(what): \(shape): \(answers.mine) here and \(answers.theirs) in the other store"
            + (ids.isEmpty ? "" : "; look at \(ids)") + (isRerun ? " (asked again of both)" : "")
    }
}
