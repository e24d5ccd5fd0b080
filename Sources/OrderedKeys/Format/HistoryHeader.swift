import Foundation

/// What the first record of a history transaction says.
package struct HistoryHeader {
    package let token: Int64
    package let timestamp: Date
    package let author: String?
    /// How many changes follow.
    package let changes: Int
}
