import DurableFiles
import Foundation
import HabitStore

/// What of a source an import leaves out, by name: neither in the store nor beside it.
public struct NotCarried: Sendable, Hashable, Codable {
    /// The table.
    public let table: String
    /// The column; nil for the whole table.
    public let column: String?
    /// How many values, or rows of a whole table.
    public let count: Int
    /// Why.
    public let reason: String
    /// Whether nothing that reads the file knows what it is.
    public let isUnknown: Bool
}

/// The file in which an import says what it left out, for those who hold the store against the source later.
struct ImportStatement {
    /// What is in the file.
    struct Contents: Codable {
        var format = 1
        let notCarried: [NotCarried]
    }

    let path: String

    /// Replaces the file.
    func write(_ notCarried: [NotCarried]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(Contents(notCarried: notCarried)) + Data("\n".utf8)
        try FileFailure.told { try DurableFile.replace(path, bytes) }
    }
}
