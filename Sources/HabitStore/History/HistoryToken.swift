/// A point in a store's history. Tokens count up from 1 without a gap; two stores of one user with the same token hold
/// the same records.
public struct HistoryToken: RawRepresentable, Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The number of the last transaction that is included; 0 before the first.
    public let rawValue: Int64

    /// The token of a transaction's number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Before the first transaction.
    public static let zero = HistoryToken(rawValue: 0)

    /// Earlier tokens first.
    public static func < (left: HistoryToken, right: HistoryToken) -> Bool { left.rawValue < right.rawValue }

    /// The number.
    public var description: String { String(rawValue) }

    /// The greatest token that a file may contain: about 140 trillion, more than any store reaches. The control file has no room for more.
    package static let greatest = HistoryToken(rawValue: 1 << 47)

    /// The token of the next transaction.
    var next: HistoryToken { HistoryToken(rawValue: rawValue < .max ? rawValue + 1 : rawValue) }
}
