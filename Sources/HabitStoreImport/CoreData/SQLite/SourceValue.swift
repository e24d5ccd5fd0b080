import Foundation

/// What a column of another app's database holds, by its storage class.
package enum SourceValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    /// What is declared to be text and is no UTF-8.
    case malformedText(Data)
    case blob(Data)

    /// Whether there is nothing.
    package var isNull: Bool { self == .null }
}
