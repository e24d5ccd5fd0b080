import Foundation
import HabitStore

/// Opens the private copy of a database, and says what is odd about its files.
struct SourceOpening {
    let path: String
    /// The path of the file itself, where the other one is a link: its log and what else belongs to it lie beside the file.
    let resolvedPath: String
    let snapshot: SourceSnapshot
    private(set) var oddities: [CoreDataOddity] = []
    /// The log that is read with the file; nil where none is.
    private(set) var readLog: WriteAheadLog?
    private let header: [UInt8]

    private static let magic = Array("SQLite format 3\0".utf8)
    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// Copies the files, and looks at their headers.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` for what is no SQLite database.
    init(_ path: String) throws {
        self.path = path
        (snapshot, resolvedPath) = try SourceSnapshot.ofTarget(of: path)
        header = Self.head(of: snapshot.path, 100)
        guard header.count >= 100 else {
            let what = header.isEmpty ? "the file is empty" : "the file is shorter than the header of a database"
            throw HabitStoreError(.notAStore, what, at: .init(path: path))
        }
        guard header.starts(with: Self.magic) else {
            throw HabitStoreError(
                .notAStore,
                "the file is no SQLite database, or an encrypted one",
                at: .init(path: path)
            )
        }
    }

    /// Opens the copy.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` when pages are missing or damaged.
    mutating func open() throws -> SourceConnection {
        let log = try judgeLog()
        judgeJournal()
        try requireAllPages(log)
        readLog = log
        let connection = try connect(isLogRead: log != nil)
        try check(connection)
        return connection
    }

    /// Opens the copy with its log, or without it when the numbers that only grow say that the main file is newer.
    private mutating func connect(isLogRead: Bool) throws -> SourceConnection {
        guard isLogRead else { return try SourceConnection(copy: snapshot.path, of: path) }
        let alone = GrowingNumbers(try? SourceConnection(copy: snapshot.path, of: path, isMainFileAlone: true))
        let both = try SourceConnection(copy: snapshot.path, of: path)
        guard let name = alone.firstGreater(than: GrowingNumbers(both)) else { return both }
        both.close()
        oddities.removeAll { $0.kind == "logRead" }
        note("logOlder", "the -wal is of an earlier moment than the file, whose \(name) is further: it is left out")
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: snapshot.path + suffix) {
            try snapshot.leaveOut(suffix)
        }
        readLog = nil
        return try SourceConnection(copy: snapshot.path, of: path)
    }

    // MARK: The log

    /// - Returns: the log, when SQLite is going to read it.
    private mutating func judgeLog() throws -> WriteAheadLog? {
        guard snapshot.stamps.log != nil else {
            if header[18] == 2 {
                note(
                    "logMissing",
                    "the file uses a write-ahead log, and none is beside it: what was only there is missing"
                )
            }
            return nil
        }
        let log = WriteAheadLog(try Self.bytes(of: snapshot.path + "-wal"))
        switch log.header {
        case .empty: note("logEmpty", "the -wal beside the file has 0 bytes: nothing is read from it")
        case .truncated:
            note("logTruncated", "the -wal beside the file is shorter than its header: nothing is read from it")
        case .invalid: note("logInvalid", "the -wal beside the file has no sound header: nothing is read from it")
        case .valid: return try judgeFrames(log)
        }
        return nil
    }

    private mutating func judgeFrames(_ log: WriteAheadLog) throws -> WriteAheadLog? {
        if log.damagedFrames > 0 {
            note(
                "logDamaged",
                "the -wal is damaged behind frame \(log.validFrames): \(log.damagedFrames) frames are not read",
                log.damagedFrames
            )
        }
        let unfinished = log.validFrames - log.committedFrames
        if log.committedFrames == 0 {
            note(
                "logNeverCommitted",
                "the -wal holds \(unfinished) frames and no finished transaction: nothing is read from it",
                unfinished
            )
            return nil
        }
        if unfinished > 0 {
            note(
                "logUnfinished",
                "\(unfinished) frames at the end of the -wal belong to a transaction that was not finished",
                unfinished
            )
        }
        guard log.pageSize == pageSize else {
            note(
                "logForeign",
                "the -wal has pages of \(log.pageSize) bytes and the file of \(pageSize): it is left out"
            )
            try snapshot.leaveOut("-wal")
            return nil
        }
        return try judgeAge(log)
    }

    private mutating func judgeAge(_ log: WriteAheadLog) throws -> WriteAheadLog? {
        let (main, frames) = (try Self.bytes(of: snapshot.path), try Self.bytes(of: snapshot.path + "-wal"))
        let mainCounter = Self.counter(main, 0)
        // The second number, four words on, counts the changes of the schema.
        if let page = log.pages[1],
            Self.counter(frames, page) < mainCounter || Self.counter(frames, page, 4) < Self.counter(main, 0, 4)
        {
            note(
                "logOlder",
                "the -wal is of an earlier moment than the file, whose count of changes is further: it is left out"
            )
            try snapshot.leaveOut("-wal")
            return nil
        }
        let isContained = log.pages.allSatisfy { number, offset in
            let place = (Int(number) - 1) * pageSize
            guard number > 0, place + pageSize <= main.count else { return false }
            return main[place..<(place + pageSize)] == frames[offset..<(offset + pageSize)]
        }
        if isContained {
            note("logContained", "everything in the -wal is in the file already")
        } else {
            note(
                "logRead",
                "\(log.pages.count) pages are in the -wal only: without it the file is an older one",
                log.pages.count
            )
        }
        return log
    }

    private mutating func judgeJournal() {
        let head = Self.head(of: snapshot.path + "-journal", 8)
        guard head.elementsEqual(Self.journalMagic) else { return }
        note("journalPlayedBack", "a transaction was cut off: the -journal beside the file is played back in the copy")
    }

    // MARK: The main file

    private var pageSize: Int {
        let stated = Int(header[16]) << 8 | Int(header[17])
        return stated == 1 ? 65_536 : stated
    }

    private func requireAllPages(_ log: WriteAheadLog?) throws {
        guard header[24..<28].elementsEqual(header[92..<96]), pageSize >= 512 else { return }
        let stated = log.map(\.committedPageCount) ?? Int(Self.counter(Data(header), 0, 1))
        let held = Int(snapshot.stamps.main.size) / pageSize
        guard held < stated, snapshot.stamps.journal == nil else { return }
        let inLog = log?.pages.keys.filter { $0 > held && $0 <= stated }.count ?? 0
        let missing = stated - held - inLog
        guard missing > 0 else { return }
        throw HabitStoreError(
            .corrupt,
            "the file is cut short: \(missing) of \(stated) pages are missing",
            at: .init(path: path)
        )
    }

    private mutating func check(_ connection: SourceConnection) throws {
        let findings: [String]
        do {
            findings = try connection.texts("PRAGMA quick_check(10)").filter { $0 != "ok" }
        } catch let error as HabitStoreError where error.detail?.contains("no such") == true {
            // An index by a collation that only the app has; its table is read without it.
            return note("notChecked", "the file's pages could not be checked: an index needs what only its app has")
        }
        guard let first = findings.first else { return }
        throw HabitStoreError(
            .corrupt,
            "the database is damaged (\(findings.count) findings of SQLite's own check)",
            at: .init(path: path),
            detail: first
        )
    }

    // MARK: Bytes

    private mutating func note(_ kind: String, _ message: String, _ count: Int? = nil) {
        oddities.append(CoreDataOddity(kind, message, count: count))
    }

    /// A page's change counter (at byte 24 of the first page), or the number `words` behind it.
    private static func counter(_ bytes: Data, _ page: Int, _ words: Int = 0) -> UInt32 {
        let start = bytes.startIndex + page + 24 + 4 * words
        guard start + 4 <= bytes.endIndex else { return 0 }
        return bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func head(of path: String, _ count: Int) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        return Array((try? file.read(upToCount: count)) ?? Data())
    }

    private static func bytes(of path: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the private copy cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
    }
}
