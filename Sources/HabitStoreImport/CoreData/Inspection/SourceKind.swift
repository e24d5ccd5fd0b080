import Foundation

/// The kind of a file, from its header alone.
public enum SourceKind: Sendable, Hashable {
    /// A SQLite store of this package.
    case habitStore
    /// Another SQLite database.
    case database
    /// Another kind of file, or none.
    case other

    /// `HbSt`, the mark of this package's stores in the header.
    private static let storeMark = Data([0x48, 0x62, 0x53, 0x74])

    /// Reads a file's header. An unreadable file is ``other``; opening it reports the reason.
    public init(path: String) {
        self = .other
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let file = FileHandle(forReadingAtPath: path)
        else { return }
        defer { try? file.close() }
        guard let head = try? file.read(upToCount: 100), head.starts(with: Data("SQLite format 3\0".utf8)) else {
            return
        }
        self = head.count >= 72 && head[68..<72].elementsEqual(Self.storeMark) ? .habitStore : .database
    }
}
