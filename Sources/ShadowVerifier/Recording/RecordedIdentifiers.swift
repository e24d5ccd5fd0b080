import Foundation

/// A list of identifiers, and what they are.
struct RecordedIdentifiers: Sendable, Hashable, Codable {
    /// The list's caption: `found in A from the other side`.
    let caption: String
    let identifiers: [UUID]

    init(_ caption: String, _ identifiers: [UUID]) {
        self.caption = caption
        self.identifiers = identifiers
    }
}
