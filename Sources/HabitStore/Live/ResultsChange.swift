import Foundation

/// Why a live query has an answer to tell.
public enum ResultsChangeCause: String, Sendable, Codable {
    /// It is the first one.
    case first
    /// Records were written.
    case changed
    /// The changes in between cannot be known, since the history was pruned or the store was restored or migrated. The query was repeated.
    case restarted
}

/// An answer of a live query: what a fetch at the moment of ``token`` gives, and how it differs from the answer that the same
/// consumer got before.
public struct ResultsChange<Element: Sendable>: Sendable {
    /// The moment of the answer. It never falls, as long as the cause is not ``ResultsChangeCause/restarted``.
    public let token: HistoryToken
    /// The answer, in order.
    public let records: LiveRecords<Element>
    /// The difference to the previous result; in the first one, everything is inserted.
    public let difference: ResultsDifference
    /// Why there is an answer to tell.
    public let cause: ResultsChangeCause
}

extension ResultsChange {
    /// The records that are new in the answer, in order.
    public var inserted: [Element] { difference.insertions.map { records[$0] } }

    /// The records that have other contents than before, in order, wherever they stand.
    public var updated: [Element] { (difference.updates + difference.moves.map(\.to)).sorted().map { records[$0] } }

    /// Makes the answer that the consumer got before this one.
    public func apply(to earlier: inout [Element]) { difference.apply(to: &earlier, from: records) }
}
