import Foundation
import HabitStore

/// The header of a SQLite database (SQLite's file format, section 1.3).
package struct DatabaseHeader {
    private let bytes: [UInt8]

    private static let magic = Array("SQLite format 3\0".utf8)
    private static let size = 100

    /// Reads the header of a file.
    ///
    /// - Parameter original: the path that errors name; nil for `file`.
    /// - Throws: ``HabitStoreError/Code/notAStore`` if the file is not a SQLite database.
    init(of file: String, original: String? = nil) throws {
        let path = original ?? file
        guard access(file, R_OK) == 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        bytes = Self.head(of: file, Self.size)
        guard bytes.count == Self.size else {
            let what = bytes.isEmpty ? "the file is empty" : "the file is shorter than the header of a database"
            throw HabitStoreError(.notAStore, what, at: .init(path: path))
        }
        guard bytes.starts(with: Self.magic) else {
            throw HabitStoreError(
                .notAStore,
                "the file is not a SQLite database, or it is encrypted",
                at: .init(path: path)
            )
        }
    }

    /// The size of a page in bytes.
    var pageSize: Int {
        let stated = Int(bytes[16]) << 8 | Int(bytes[17])
        return stated == 1 ? 65_536 : stated
    }

    /// Whether commits go to a write-ahead log.
    var usesLog: Bool { bytes[18] == 2 }

    /// The number of pages; nil if the last writer did not record it, so that the file's length decides.
    var pageCount: Int? {
        let count = word(28)
        return bytes[24..<28].elementsEqual(bytes[92..<96]) && pageSize >= 512 && count > 0 ? Int(count) : nil
    }

    /// Counts changes to the file.
    var changeCounter: UInt32 { word(24) }

    /// Counts changes to the schema.
    var schemaCounter: UInt32 { word(40) }

    private func word(_ offset: Int) -> UInt32 { bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } }

    /// The first bytes of a file; fewer if the file is shorter.
    package static func head(of path: String, _ count: Int) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        return Array((try? file.read(upToCount: count)) ?? Data())
    }
}
