import Foundation

/// The state of a database's files: the main file, its log and its rollback journal.
struct SourceStamps: Equatable {
    let main: FileStamp
    let log: FileStamp?
    let journal: FileStamp?
    /// The header of the log; a log that has started over has other salts.
    let logHeader: Data

    /// Nil if there is no file at the path.
    init?(_ path: String) {
        guard let main = FileStamp(path) else { return nil }
        self.main = main
        log = FileStamp(path + "-wal")
        journal = FileStamp(path + "-journal")
        logHeader = Self.head(of: path + "-wal")
    }

    private static func head(of path: String) -> Data {
        guard let file = FileHandle(forReadingAtPath: path) else { return Data() }
        defer { try? file.close() }
        return (try? file.read(upToCount: WriteAheadLog.headerSize)) ?? Data()
    }

    /// Whether a copy made between the two stamps is consistent. The log may have grown: frames appended after the copied part are ignored.
    func allowsCopy(before: SourceStamps) -> Bool {
        main == before.main && journal == before.journal && logHeader == before.logHeader
            && (log?.inode == before.log?.inode) && (log?.size ?? 0) >= (before.log?.size ?? 0)
    }

    /// Whether the main file was last written longer ago than the clock's resolution, so that an unchanged time means unchanged bytes.
    var isAtRest: Bool { !(0..<0.03).contains(main.ageSeconds) }
}
