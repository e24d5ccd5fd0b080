import Foundation
import HabitStore

/// Two stores that answered one question differently at one token.
struct ShadowDifference: Sendable {
    /// In what.
    enum Kind: String, Sendable {
        /// Other records, or other contents of them.
        case records
        /// The same records in another order.
        case order
        /// Another number.
        case count
        /// One failed, or both did for different reasons.
        case error
    }

    /// How many records are named.
    static let namedRecords = 3

    let kind: Kind
    let token: HistoryToken
    /// What was asked, without its literals.
    let shape: String
    /// What the two stores said, without the user's values.
    let answers: (mine: String, theirs: String)
    /// Records in which they differ, ``namedRecords`` at most; none where the moment had passed.
    var records: [UUID] = []
    /// Whether the question was put to both stores again, because the caller's moment had passed.
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
