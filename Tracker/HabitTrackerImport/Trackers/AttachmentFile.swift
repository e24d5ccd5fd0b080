import Foundation
import HabitStore
import HabitStoreImport

/// The file for what a store cannot hold: one JSON object per line, the first of which describes the source.
struct AttachmentFile {
    private struct Header: Codable {
        var format = "habitstore-import-attachment"
        var version = 1
        let source: String
        let name: String
        let path: String
        let lines: Int
    }

    /// Writes the lines. Importing the same source again results in the same file.
    ///
    /// - Returns: the path of the file; nil if there are no lines.
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
