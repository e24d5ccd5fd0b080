import Foundation

/// What the first record of a history transaction says.
struct LMDBHistoryHeader {
    let token: Int64
    let timestamp: Date
    let author: String?
    /// How many changes follow.
    let changes: Int
}
