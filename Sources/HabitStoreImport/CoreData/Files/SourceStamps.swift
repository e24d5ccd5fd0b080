import Foundation

/// The state of a database's files: the main file, its log, its rollback journal.
struct SourceStamps: Equatable {
    let main: FileStamp
    let log: FileStamp?
    let journal: FileStamp?
    /// The log's header: a log that was begun anew has other salts.
    let logHeader: Data

    /// Nil when there is no file at the path.
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

    /// Whether a copy that was made between the two stamps is of one moment: a log may have grown, since what was added
    /// behind the copied part is not believed.
    func allowsCopy(before: SourceStamps) -> Bool {
        main == before.main && journal == before.journal && logHeader == before.logHeader
            && (log?.inode == before.log?.inode) && (log?.size ?? 0) >= (before.log?.size ?? 0)
    }

    /// Whether the main file rests for longer than its clock's steps are, so that an unchanged time means unchanged bytes.
    var isAtRest: Bool { !(0..<0.03).contains(main.ageSeconds) }
}
