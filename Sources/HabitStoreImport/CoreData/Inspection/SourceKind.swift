import Foundation

/// What kind of file is at a path, told by its header alone.
public enum SourceKind: Sendable, Hashable {
    /// A SQLite store of this package.
    case habitStore
    /// Another SQLite database.
    case database
    /// Anything else, or nothing.
    case other

    /// `HbSt`, which stores of this package have in the header.
    private static let storeMark = Data([0x48, 0x62, 0x53, 0x74])

    /// Looks at a file. What cannot be read is ``other``: whoever opens it says why.
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
