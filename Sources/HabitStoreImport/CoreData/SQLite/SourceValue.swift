import Foundation

/// A value in a column of another app's database, by its storage class.
package enum SourceValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    /// A value with the storage class text that is not valid UTF-8.
    case malformedText(Data)
    case blob(Data)

    package var isNull: Bool { self == .null }
}
