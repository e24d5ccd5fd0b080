import Foundation

/// The first record of a history transaction.
package struct HistoryHeader {
    package let token: Int64
    package let timestamp: Date
    package let author: String?
    /// The number of changes that follow.
    package let changes: Int
}
