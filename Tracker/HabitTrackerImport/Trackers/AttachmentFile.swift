import Foundation
import HabitStore
import HabitStoreImport

/// The file in which is kept what a store has no place for: JSON, a line for each, the first of which says what it is of.
struct AttachmentFile {
    private struct Header: Codable {
        var format = "habitstore-import-attachment"
        var version = 1
        let source: String
        let name: String
        let path: String
        let lines: Int
    }

    /// Writes the lines. The same source leaves the same file, once.
    ///
    /// - Returns: the file's path; nil when there is nothing to keep.
    static func write(
        _ lines: [AttachmentLine],
        of source: TrackerSource,
        named name: String,
        in folder: String
    ) throws -> String? {
        guard !lines.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = Data()
        for line in lines {
            bytes += try encoder.encode(line)
            bytes.append(UInt8(ascii: "\n"))
        }
        let file = source.path.split(separator: "/").last.map(String.init) ?? source.path
        let header = Header(source: source.format.rawValue, name: name, path: file, lines: lines.count)
        let first = try encoder.encode(header) + Data([UInt8(ascii: "\n")])
        return try ContentNamedFile.write(bytes, behind: first, as: source.format.rawValue, in: folder)
    }
}
