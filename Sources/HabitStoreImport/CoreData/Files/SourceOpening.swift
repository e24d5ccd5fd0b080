import DurableFiles
import Foundation
import HabitStore

/// Opens the private copy of a database and reports what is odd about its files.
package struct SourceOpening {
    let path: String
    /// The path with symbolic links resolved: the log and the other companion files are next to the actual file.
    let resolvedPath: String
    let snapshot: SourceSnapshot
    package private(set) var oddities: [CoreDataOddity] = []
    /// The log that is read with the file; nil if there is none.
    private(set) var readLog: WriteAheadLog?
    private let header: DatabaseHeader

    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// Copies the files.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` if the file is not a SQLite database.
    package init(_ path: String) throws {
        self.path = path
        (snapshot, resolvedPath) = try SourceSnapshot.ofTarget(of: path)
        header = snapshot.header
    }

    /// Opens the copy.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if pages are missing or damaged.
    package mutating func open() throws -> SourceConnection {
        let log = try judgeLog()
        judgeJournal()
        try requireAllPages(log)
        readLog = log
        let connection = try connect(isLogRead: log != nil)
        try check(connection)
        connection.standInForCollations()
        oddities += try connection.catalog().unreadable.map(\.oddity)
        return connection
    }

    /// Unlinks the copy; a connection that has it open can still read it.
    package func hide() { snapshot.hide() }

    /// Opens the copy with its log, or without it if the growing numbers show that the main file is newer.
    private mutating func connect(isLogRead: Bool) throws -> SourceConnection {
        guard isLogRead else { return try connection() }
        let alone = GrowingNumbers(try? connection(isMainFileAlone: true))
        let both = try connection()
        guard let name = alone.firstGreater(than: GrowingNumbers(both)) else { return both }
        both.close()
        oddities.removeAll { $0.kind == "logRead" }
        note("logOlder", "the -wal is of an earlier moment than the file, whose \(name) is further: it is left out")
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: snapshot.path + suffix) {
            try snapshot.leaveOut(suffix)
        }
        readLog = nil
        return try connection()
    }

    private func connection(isMainFileAlone: Bool = false) throws -> SourceConnection {
        let bytes = [snapshot.stamps.main, snapshot.stamps.log, snapshot.stamps.journal].reduce(0) {
            $0 + ($1?.size ?? 0)
        }
        return try SourceConnection(
            copy: snapshot.path,
            of: path,
            isMainFileAlone: isMainFileAlone,
            largestValueBytes: Int(bytes)
        )
    }

    // MARK: The log

    /// - Returns: the log, if SQLite will read it.
    private mutating func judgeLog() throws -> WriteAheadLog? {
        guard snapshot.stamps.log != nil else {
            if header.usesLog {
                note(
                    "logMissing",
                    "the file uses a write-ahead log, but there is no -wal: changes that were only in it are missing"
                )
            }
            return nil
        }
        let log = WriteAheadLog(try Self.bytes(of: snapshot.path + "-wal"))
        switch log.header {
        case .empty: note("logEmpty", "the -wal has 0 bytes: nothing is read from it")
        case .truncated:
            note("logTruncated", "the -wal is shorter than its header: nothing is read from it")
        case .invalid: note("logInvalid", "the -wal has no valid header: nothing is read from it")
        case .valid: return try judgeFrames(log)
        }
        return nil
    }

    private mutating func judgeFrames(_ log: WriteAheadLog) throws -> WriteAheadLog? {
        if log.damagedFrames > 0 {
            note(
                "logDamaged",
                "the -wal is damaged after frame \(log.validFrames): \(log.damagedFrames) frames are not read",
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
        guard log.pageSize == header.pageSize else {
            note(
                "logForeign",
                "the -wal has pages of \(log.pageSize) bytes and the file of \(header.pageSize): it is left out"
            )
            try snapshot.leaveOut("-wal")
            return nil
        }
        return try judgeAge(log)
    }

    private mutating func judgeAge(_ log: WriteAheadLog) throws -> WriteAheadLog? {
        let (main, frames) = (try Self.bytes(of: snapshot.path), try Self.bytes(of: snapshot.path + "-wal"))
        let pageSize = header.pageSize
        if let page = log.pages[1],
            Self.word(frames, page + 24) < header.changeCounter || Self.word(frames, page + 40) < header.schemaCounter
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
        let head = DatabaseHeader.head(of: snapshot.path + "-journal", 8)
        guard head.elementsEqual(Self.journalMagic) else { return }
        note("journalPlayedBack", "a transaction was cut off: the -journal is played back in the copy")
    }

    // MARK: The main file

    private mutating func requireAllPages(_ log: WriteAheadLog?) throws {
        guard let count = header.pageCount, snapshot.stamps.journal == nil else { return }
        let stated = log.map(\.committedPageCount) ?? count
        let held = Int(snapshot.stamps.main.size) / header.pageSize
        if held > max(stated, count) { return try judgeRest(behind: max(stated, count)) }
        let inLog = log?.pages.keys.filter { $0 > held && $0 <= stated }.count ?? 0
        let missing = stated - held - inLog
        guard missing > 0 else { return }
        throw HabitStoreError(
            .corrupt,
            "the file is cut short: \(missing) of \(stated) pages are missing",
            at: .init(path: path)
        )
    }

    /// SQLite ignores bytes after the last page. Apps preallocate zeros there; anything else was once a page or is about to become one.
    private mutating func judgeRest(behind pages: Int) throws {
        let end = pages * header.pageSize
        let rest = "the file has \(Int(snapshot.stamps.main.size) - end) bytes after its last page"
        if try FileFailure.mappingErrors({ try FileCopy.isZero(snapshot.path, from: off_t(end)) }) {
            note("fileLonger", "\(rest) that are all zero: they are not read")
        } else {
            note("pagesUncounted", "\(rest) that it does not count among its pages: they are not read")
        }
    }

    private mutating func check(_ connection: SourceConnection) throws {
        let findings: [String]
        do {
            findings = try connection.texts("PRAGMA quick_check(10)").filter { $0 != "ok" }
        } catch is HabitStoreError where connection.needsApp() {
            findings = try checkEachTable(connection)
        }
        guard let first = findings.first else { return }
        throw HabitStoreError(
            .corrupt,
            "the database is damaged (\(findings.count) findings of SQLite's own check)",
            at: .init(path: path),
            detail: first
        )
    }

    /// Checks each table separately, so that an index with a collation only the app defines does not prevent the check of other tables.
    private mutating func checkEachTable(_ connection: SourceConnection) throws -> [String] {
        var findings: [String] = []
        var unchecked: [String] = []
        let tables =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND NOT sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY name"
        for table in try connection.texts(tables) {
            do {
                let sql = "PRAGMA quick_check(\(SourceConnection.quoted(table)))"
                findings += try connection.texts(sql).filter { $0 != "ok" }
            } catch is HabitStoreError where connection.needsApp() {
                unchecked.append(table)
            }
        }
        let names = unchecked.isEmpty ? "what belongs to no table" : unchecked.listed()
        note("notChecked", "the pages of \(names) could not be checked: that needs what only the app has")
        return findings
    }

    // MARK: Bytes

    private mutating func note(_ kind: String, _ message: String, _ count: Int? = nil) {
        oddities.note(kind, message, count: count)
    }

    private static func word(_ bytes: Data, _ offset: Int) -> UInt32 {
        let start = bytes.startIndex + offset
        guard start + 4 <= bytes.endIndex else { return 0 }
        return bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Mapped, as a log may be larger than memory. The copy is private, so no other process can truncate it.
    private static func bytes(of path: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
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

/// A notable finding about a Core Data file: something missing, guessed or unusual.
public struct CoreDataOddity: Sendable, Hashable, Codable {
    /// A stable name for programs, such as `logNeverCommitted`.
    public let kind: String
    /// One sentence without record values.
    public let message: String
    /// The entity concerned.
    public let entity: String?
    /// The attribute or relationship concerned.
    public let property: String?
    /// The number of occurrences, if that is meaningful.
    public let count: Int?

    init(_ kind: String, _ message: String, entity: String? = nil, property: String? = nil, count: Int? = nil) {
        self.kind = kind
        self.message = message
        self.entity = entity
        self.property = property
        self.count = count
    }
}

extension [CoreDataOddity] {
    mutating func note(
        _ kind: String,
        _ message: String,
        entity: String? = nil,
        property: String? = nil,
        count: Int? = nil
    ) {
        append(CoreDataOddity(kind, message, entity: entity, property: property, count: count))
    }
}

extension [String] {
    /// The first texts and the number of the others: a table may have hundreds of columns, and a message must stay readable.
    package func listed(_ separator: String = ", ", most: Int = 8) -> String {
        guard count > most + 1 else { return joined(separator: separator) }
        return prefix(most).joined(separator: separator) + " and \(count - most) more"
    }
}
