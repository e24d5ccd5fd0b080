import Foundation
import HabitStore

/// A recorded difference, looked for again in what it was seen in.
public struct MismatchReplay: Sendable, Codable {
    /// What both stores had of one thing.
    public struct Row: Sendable, Codable, Hashable {
        /// The attribute, or what else it is.
        public var name: String
        /// In the first column, as the recorded report shows it; nil when there is nothing.
        public var a: String?
        /// In the second column.
        public var b: String?
        /// Whether both are the same to the last bit.
        public var isEqual: Bool
        /// Whether the difference is about this.
        public var isMarked: Bool
    }

    /// The difference that was recorded.
    public var recorded: StoreDifference
    /// The difference that the replay found; nil if the recording does not show it.
    public var finding: StoreDifference?
    /// The stores, as the comparison named them.
    public var names: [String]
    /// The tokens at which they were compared.
    public var tokens: [HistoryToken]
    /// The shape of each entity then.
    public var shapes: [String: String]
    /// The titles of the two sides of ``rows``: the two stores, or two lists that have to be the same.
    public var columns = ["A", "B"]
    /// Both sides of it.
    public var rows: [Row]
    /// The query, where it is the difference of one; its filter only where values are kept.
    public var query: QueryFile.Query?
    /// Why it cannot be found again, or what else there is to know.
    public var note: String?
}
