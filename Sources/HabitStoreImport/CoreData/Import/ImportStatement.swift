import DurableFiles
import Foundation
import HabitStore

/// A part of a source that an import keeps neither in the store nor in the attachment.
public struct NotCarried: Sendable, Hashable, Codable {
    /// The table.
    public let table: String
    /// The column; nil for the whole table.
    public let column: String?
    /// The number of values, or of rows for a whole table.
    public let count: Int
    /// The reason.
    public let reason: String
    /// Whether the import does not know what the part is.
    public let isUnknown: Bool
}

/// The file that lists what an import left out, for later comparisons of store and source.
struct ImportStatement {
    struct Contents: Codable {
        var format = 1
        let notCarried: [NotCarried]
    }

    let path: String

    func write(_ notCarried: [NotCarried]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(Contents(notCarried: notCarried)) + Data("\n".utf8)
        try FileFailure.told { try DurableFile.replace(path, bytes) }
    }
}
