import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// Decides from their bytes whether a database file and its log belong together.
///
/// They do if the file is in the state in which the log began, or already contains pages of the log: the states that a killed
/// process or a power cut can leave. SQLite itself recovers any valid log into any file.
struct SQLiteLogCheck: Equatable {
    /// The reason why they do not belong together.
    enum Fault {
        case fileIsOlder
        case logIsOlder
        case unrelated
        /// The log has commits that the file lacks, after bytes at which SQLite's recovery would end.
        case damaged
    }

    /// Nil if they belong together, or if nothing indicates that they do not.
    let fault: Fault?
    /// Whether SQLite would drop a commit of the log that may have been acknowledged, or the last one of a process that died in a power cut: the
    /// bytes alone do not tell.
    let dropsCommit: Bool
    private let fileMark: SQLiteLogMark?
    private let salts: UInt64?

    /// Examines both.
    ///
    /// - Parameter isThorough: whether to also look at the frames after those that SQLite would read, which takes reading the whole log.
    /// - Parameter readFile: reads bytes of the database file from a position; nil if the file has fewer.
    init(
        path: String,
        isThorough: Bool = false,
        readFile: (_ count: Int, _ position: Int64) -> [UInt8]?
    ) throws {
        // The file is read first: pages that are checkpointed from the log meanwhile are then still in that log.
        let file = SQLiteFileState(readFile)
        fileMark = file?.mark
        guard let file else {
            (fault, dropsCommit, salts) = (nil, false, nil)
            return
        }
        let log = try SQLiteLogReader(path + "-wal")
        salts = log.map { UInt64($0.salts.0) << 32 | UInt64($0.salts.1) }
        let mismatch = try log.flatMap { try SQLiteLogState($0, with: file)?.fault(with: file) }
        guard mismatch == nil, isThorough else {
            (fault, dropsCommit) = (mismatch, false)
            return
        }
        let rest = try SQLiteLogRest(path + "-wal", of: file.pageSize)
        fault = rest.isDamage(besides: file.knownMark) ? .damaged : nil
        dropsCommit = rest.dropsCommit(besides: file.knownMark)
    }
}

/// The state of a database file, read without its log.
private struct SQLiteFileState {
    let pageSize: Int
    let counters: SQLiteCounters
    private(set) var mark: SQLiteLogMark?
    /// The page that was last searched for the mark.
    private(set) var markPage: UInt32?
    /// Whether the metadata exist and certainly do not include the mark.
    private(set) var isUnmarked = false
    /// Whether there are no tables.
    private(set) var isEmpty = false

    /// The maximum number of pages that are searched for the metadata table. A schema takes only a few.
    private static let mostSchemaPages = 256
    private static let deepestTree = 20

    init?(_ read: (Int, Int64) -> [UInt8]?) {
        guard let bytes = read(SQLiteHeader.length, 0), let header = SQLiteHeader(bytes) else { return nil }
        pageSize = Int(header.pageSizeBytes)
        counters = bytes.withUnsafeBytes { SQLiteCounters($0) }
        guard pageSize >= 512 else { return }
        isEmpty = withPage(1, read) { $0.kind == .tableLeaf && $0.cellCount == 0 } ?? false
        guard let root = root(read) else { return }
        search(from: root, read)
    }

    /// The number of the last marked commit in the file; nil if unknown.
    var knownMark: UInt64? { mark?.number ?? (isEmpty ? 0 : nil) }

    private func withPage<R>(_ number: UInt32, _ read: (Int, Int64) -> [UInt8]?, _ body: (SQLitePage) -> R?) -> R? {
        guard number > 0, let bytes = read(pageSize, Int64(number - 1) * Int64(pageSize)) else { return nil }
        return bytes.withUnsafeBytes { SQLitePage($0, number: number).flatMap(body) }
    }

    private func root(_ read: (Int, Int64) -> [UInt8]?) -> UInt32? {
        var (waiting, looked): ([UInt32], Int) = ([1], 0)
        while let number = waiting.popLast(), looked < Self.mostSchemaPages {
            looked += 1
            let root: UInt32? = withPage(number, read) { page in
                if page.kind == .tableInterior {
                    let children =
                        (0..<page.cellCount).compactMap(page.leftChild) + [page.rightChild].compactMap(\.self)
                    waiting += children.reversed()
                }
                return page.root(ofTable: SQLiteFormat.metadataTable)
            }
            if let root { return root }
        }
        return nil
    }

    private mutating func search(from root: UInt32, _ read: (Int, Int64) -> [UInt8]?) {
        var next: UInt32? = root
        for _ in 0..<Self.deepestTree {
            guard let number = next else { return }
            next = nil
            markPage = number
            let step: Step? = withPage(number, read) { page in
                switch page.metadata(SQLiteLogMark.key) {
                case .found(let text): .mark(SQLiteLogMark(text))
                case .child(let child): .child(child)
                case .absent: .unmarked
                case nil: nil
                }
            }
            switch step {
            case .mark(let mark): self.mark = mark
            case .child(let child): next = child
            case .unmarked: isUnmarked = true
            case nil: return
            }
        }
    }

    private enum Step {
        case mark(SQLiteLogMark?)
        case child(UInt32)
        case unmarked
    }
}

/// The counters in the header of page 1, which only grow.
private struct SQLiteCounters {
    let changes: UInt32
    let schemaCookie: UInt32

    init(_ page: UnsafeRawBufferPointer) {
        func word(_ offset: Int) -> UInt32 { page[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
        (changes, schemaCookie) = (word(24), word(40))
    }

    /// Whether a number comes after another, even if it has wrapped around.
    static func isLater(_ number: UInt32, than other: UInt32) -> Bool { Int32(bitPattern: number &- other) > 0 }
}

/// The states before the first and after the last committed transaction of a log.
private struct SQLiteLogState {
    private var firstMark: SQLiteLogMark?
    private var firstMarkPage: UInt32?
    private var lastMark: SQLiteLogMark?
    private var firstCounters: SQLiteCounters?
    private var lastCounters: SQLiteCounters?
    private var highestCookie: UInt32?
    private var hasMarkPage = false
    private var isMarkKnown = false
    private var pageSize: Int

    /// Reads the log until it is known to belong to the file. Nil without a committed transaction.
    init?(_ log: SQLiteLogReader, with file: SQLiteFileState) throws {
        pageSize = log.pageSize
        var isEmpty = true
        var transaction = Transaction()
        while let isCommit = try log.next({ transaction.add($0, $1, markPage: file.markPage) }) {
            guard isCommit else { continue }
            isEmpty = false
            take(transaction, file)
            transaction = Transaction()
            if isOwn(file) { return }
        }
        if isEmpty { return nil }
    }

    private struct Transaction {
        var mark: SQLiteLogMark?
        var page: UInt32?
        var counters: SQLiteCounters?
        var hasMarkPage = false

        mutating func add(_ frame: SQLiteLogReader.Frame, _ bytes: UnsafeRawBufferPointer, markPage: UInt32?) -> Bool {
            if frame.page == 1 { counters = SQLiteCounters(bytes) }
            if frame.page == markPage { hasMarkPage = true }
            if let mark = SQLitePage(bytes, number: frame.page)?.logMark { (self.mark, page) = (mark, frame.page) }
            return frame.isCommit
        }
    }

    private mutating func take(_ transaction: Transaction, _ file: SQLiteFileState) {
        hasMarkPage = hasMarkPage || transaction.hasMarkPage
        if let counters = transaction.counters {
            firstCounters = firstCounters ?? counters
            lastCounters = counters
            noteCookie(counters.schemaCookie)
        }
        guard let mark = transaction.mark else { return }
        if firstMark == nil { (firstMark, firstMarkPage) = (mark, transaction.page) }
        lastMark = mark
        noteCookie(UInt32(truncatingIfNeeded: mark.schemaCookie))
        guard let known = file.mark else { return }
        isMarkKnown = isMarkKnown || mark == known || mark.previous == known.id
    }

    private mutating func noteCookie(_ cookie: UInt32) {
        if highestCookie.map({ SQLiteCounters.isLater(cookie, than: $0) }) ?? true { highestCookie = cookie }
    }

    private func hasCookie(of file: SQLiteFileState) -> Bool {
        highestCookie.map { !SQLiteCounters.isLater(file.counters.schemaCookie, than: $0) } ?? true
    }

    /// Whether the log is known to belong to the file.
    private func isOwn(_ file: SQLiteFileState) -> Bool {
        isMarkKnown && hasCookie(of: file) && pageSize == file.pageSize
    }

    func fault(with file: SQLiteFileState) -> SQLiteLogCheck.Fault? {
        if isOwn(file) { return nil }
        if pageSize != file.pageSize || isMarkKnown { return .unrelated }
        return markFault(file) ?? counterFault(file)
    }

    private func markFault(_ file: SQLiteFileState) -> SQLiteLogCheck.Fault? {
        guard let firstMark, let lastMark else {
            // A log with the mark's page also has the mark, unless it was written before there was one.
            return file.mark != nil && hasMarkPage ? .logIsOlder : nil
        }
        guard let mark = file.mark else {
            // A half-checkpointed page may lack the mark as well, but it is never both whole and the page that has the mark in the
            // log.
            let isUnmarked = file.isEmpty || file.isUnmarked && file.markPage == firstMarkPage
            return isUnmarked && firstMark.previous != 0 ? .fileIsOlder : nil
        }
        if mark.number < firstMark.number - min(firstMark.number, 1) { return .fileIsOlder }
        return mark.number > lastMark.number ? .logIsOlder : .unrelated
    }

    /// Compares the counters of page 1, for logs of earlier versions, which wrote no marks.
    private func counterFault(_ file: SQLiteFileState) -> SQLiteLogCheck.Fault? {
        guard let firstCounters, let lastCounters else { return nil }
        if SQLiteCounters.isLater(file.counters.changes, than: lastCounters.changes) || !hasCookie(of: file) {
            return .logIsOlder
        }
        // A connection counts on from its first read, so the first count may be that of the file or the next one.
        return SQLiteCounters.isLater(firstCounters.changes &- 1, than: file.counters.changes) ? .fileIsOlder : nil
    }
}

extension SQLiteConnection {
    private static let mostLooks = 8
    private static let pauseMicroseconds: UInt32 = 2_000

    /// Rejects a log that does not belong to the file, before SQLite reads either: it would copy the log over the file.
    ///
    /// Another process may be writing to both, so a fault only counts if a second look finds the same one.
    ///
    /// - Parameter isThorough: whether to reject a damaged log, too, which only SQLite's recovery would mistake for a shorter one.
    /// - Returns: whether a thorough look found a commit that SQLite would drop, and that may have been acknowledged.
    @discardableResult
    func requireOwnLog(isThorough: Bool = false) throws -> Bool {
        var last: SQLiteLogCheck?
        for _ in 0..<Self.mostLooks {
            guard try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 else { return false }
            let check = try SQLiteLogCheck(path: path, isThorough: isThorough, readFile: { fileBytes($0, at: $1) })
            guard let fault = check.fault else { return check.dropsCommit }
            if check == last { throw Self.error(fault, path) }
            last = check
            usleep(Self.pauseMicroseconds)
        }
        return false
    }

    private static func error(_ fault: SQLiteLogCheck.Fault, _ path: String) -> HabitStoreError {
        let log = path + "-wal"
        let move = "`mv \(ShellWord.quoted(log)) \(ShellWord.quoted(log + ".aside"))`"
        let name = (path as NSString).lastPathComponent
        let sentence =
            switch fault {
            case .logIsOlder:
                "its log (\(name)-wal) is from before the file's last changes, and would undo them; move it away: \(move)"
            case .fileIsOlder:
                "the file is older than its log (\(name)-wal), which continues a later state of it; put back the file that "
                    + "belongs to this log, or give up the records in the log: \(move)"
            case .unrelated:
                "its log (\(name)-wal) belongs to another file, or to another copy of this one; put back the file that "
                    + "belongs to this log, or move it away: \(move)"
            case .damaged:
                "its log (\(name)-wal) is damaged, and holds the last acknowledged records after the damage, where SQLite would "
                    + "drop them; nothing was changed: keep a copy of the file and its log and restore a backup, or give up the "
                    + "records in the log: \(move)"
            }
        return .damage(sentence, at: HabitStoreError.Location(path: path))
    }
}

/// A row that every commit replaces, which shows whether a database file and a log belong together.
///
/// The file has the mark of its last checkpointed commit. The log has those of all commits since its start, and the first of them
/// names its predecessor. SQLite's own log does not identify its file.
struct SQLiteLogMark: Equatable, Sendable {
    /// The key of the row in the store's metadata.
    static let key = "logMark"
    private static let fieldLength = 16
    private static let separator = UInt8(ascii: "-")
    private static let textLength = fieldLength * 5 + 4

    /// The number of marked commits so far, including this one.
    let number: UInt64
    /// A random number that distinguishes this commit from any other with the same number.
    let id: UInt64
    /// The ``id`` of the previous marked commit; 0 for the first one.
    let previous: UInt64
    /// The schema cookie at this commit. A rebuilt file (`VACUUM INTO`) has the marks of the original but a higher cookie, and its
    /// pages have other numbers.
    let schemaCookie: UInt64

    /// The mark of the commit after `mark`, or of the first one if that is nil.
    init(after mark: SQLiteLogMark?, schemaCookie: Int64) {
        number = (mark?.number ?? 0) &+ 1
        id = UInt64.random(in: 1...UInt64.max)
        previous = mark?.id ?? 0
        self.schemaCookie = UInt64(UInt32(truncatingIfNeeded: schemaCookie))
    }

    /// Parses ``text``. Nil for anything else: a page torn by a power cut may have parts of two marks.
    init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.textLength, let number = Self.number(text, 0), let id = Self.number(text, 1),
            let previous = Self.number(text, 2), let cookie = Self.number(text, 3), let sum = Self.number(text, 4)
        else { return nil }
        (self.number, self.id, self.previous, schemaCookie) = (number, id, previous, cookie)
        guard sum == checksum else { return nil }
    }

    /// Five numbers of 16 hexadecimal digits, the last of which is a checksum. The length never changes, so that SQLite overwrites
    /// the row in place.
    var text: String {
        String(unsafeUninitializedCapacity: Self.textLength) { bytes in
            for (field, number) in [number, id, previous, schemaCookie, checksum].enumerated() {
                let start = field * (Self.fieldLength + 1)
                if field > 0 { bytes[start - 1] = Self.separator }
                for digit in 0..<Self.fieldLength {
                    let value = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(digit))) & 0xF
                    bytes[start + digit] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                }
            }
            return Self.textLength
        }
    }

    private var checksum: UInt64 {
        let numbers = (number.littleEndian, id.littleEndian, previous.littleEndian, schemaCookie.littleEndian)
        return withUnsafeBytes(of: numbers) { XXHash3.hash($0) }
    }

    private static func number(_ text: UnsafeRawBufferPointer, _ field: Int) -> UInt64? {
        let start = field * (fieldLength + 1)
        guard field == 0 || text[start - 1] == separator else { return nil }
        var number: UInt64 = 0
        for position in start..<(start + fieldLength) {
            switch text[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                number = number << 4 | UInt64(text[position] - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                number = number << 4 | UInt64(text[position] - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

extension SQLiteConnection {
    /// Runs the body of a write transaction, and marks the commit if the body changed any row. A transaction without changes writes
    /// nothing.
    func withLogMark<T>(_ body: () throws -> T) throws -> T {
        let before = totalChanges
        let result = try body()
        if totalChanges != before, isInTransaction { try advanceLogMark() }
        return result
    }

    /// Replaces the mark with that of the next commit.
    func advanceLogMark() throws {
        let current = try withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(SQLiteLogMark.key, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
        var text = current ?? ""
        let cookie = try withStatement("PRAGMA schema_version") { try $0.step() ? $0.int64(at: 0) : 0 }
        let last = text.withUTF8 { SQLiteLogMark(UnsafeRawBufferPointer($0)) }
        let mark = SQLiteLogMark(after: last, schemaCookie: cookie)
        try withStatement(SQLiteFormat.replaceMetadata) { statement in
            try statement.bind(SQLiteLogMark.key, at: 1)
            try statement.bind(mark.text, at: 2)
            try statement.run()
        }
    }
}

/// Reads a write-ahead log frame by frame, like SQLite's recovery (https://www.sqlite.org/fileformat.html, 4). Other processes may
/// write to it meanwhile; `WriteAheadLog` of HabitStoreImport maps a private copy instead.
///
/// SQLite has no locks on this file, so closing it drops none.
final class SQLiteLogReader {
    /// A frame whose checksum continues that of all frames before it.
    struct Frame {
        let page: UInt32
        /// Whether it ends a transaction.
        let isCommit: Bool
    }

    fileprivate static let headerLength = 32
    fileprivate static let frameHeaderLength = 24
    /// The number of bytes in a read.
    private static let blockBytes = 1 << 16

    /// The salts, which distinguish this log from others at the same path.
    let salts: (UInt32, UInt32)
    let pageSize: Int
    private let file: OpenFile
    private let path: String
    fileprivate let isBigEndian: Bool
    private var sums: (UInt32, UInt32)
    private var block: [UInt8]
    private var filled = 0
    private var position = 0
    /// The offset of the block in the file.
    private var blockOffset: off_t

    /// The offset of the next frame: after the last one, the end of what SQLite would read.
    fileprivate var offset: off_t { blockOffset + off_t(position) }

    /// Opens a log; nil for one that SQLite would consider empty.
    init?(_ path: String) throws {
        guard let file = try Self.open(path) else { return nil }
        self.file = file
        self.path = path
        var header = [UInt8](repeating: 0, count: Self.headerLength)
        let count = try Self.read(self.file, path, &header, at: 0)
        let words = header.withUnsafeBytes { bytes in (0..<8).map { Self.word(bytes, $0 * 4) } }
        let (size, isBigEndian) = (Int(words[2]), words[0] & 1 == 1)
        guard count == Self.headerLength, words[0] & ~1 == 0x377F_0682, words[1] == 3_007_000,
            size >= 512, size <= 65_536, size & (size - 1) == 0
        else { return nil }
        sums = header.withUnsafeBytes { Self.sum(UnsafeRawBufferPointer(rebasing: $0[..<24]), (0, 0), isBigEndian) }
        guard sums == (words[6], words[7]) else { return nil }
        self.isBigEndian = isBigEndian
        pageSize = size
        salts = (words[4], words[5])
        let frameLength = Self.frameHeaderLength + size
        block = [UInt8](repeating: 0, count: max(1, Self.blockBytes / frameLength) * frameLength)
        blockOffset = off_t(Self.headerLength)
    }

    /// Opens the file; nil if there is no log, or it is empty.
    fileprivate static func open(_ path: String) throws -> OpenFile? {
        guard let status = try SQLiteFiles.status(of: path), status.kind == .regular, status.sizeBytes > 0 else {
            return nil
        }
        do {
            return try OpenFile(path, O_RDONLY | O_NOFOLLOW)
        } catch {
            // SQLite reports itself that the file cannot be read.
            guard error.number != ENOENT, error.number != EACCES, error.number != ELOOP else { return nil }
            throw SQLiteError.system(error.number, path: path, while: "opening the log")
        }
    }

    /// Passes the next frame and its page to `body`; nil at the end of what SQLite would read.
    func next<R>(_ body: (Frame, UnsafeRawBufferPointer) -> R) throws -> R? {
        let frameLength = Self.frameHeaderLength + pageSize
        if position + frameLength > filled {
            blockOffset += off_t(position)
            filled = try Self.read(file, path, &block, at: blockOffset)
            position = 0
            guard filled >= frameLength else { return nil }
        }
        return block.withUnsafeBytes { bytes in
            let header = UnsafeRawBufferPointer(rebasing: bytes[position..<(position + Self.frameHeaderLength)])
            let frame = Frame(page: Self.word(header, 0), isCommit: Self.word(header, 4) != 0)
            guard frame.page != 0, Self.word(header, 8) == salts.0, Self.word(header, 12) == salts.1 else { return nil }
            let start = position + Self.frameHeaderLength
            let page = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + pageSize)])
            let sumsBefore = Self.sum(UnsafeRawBufferPointer(rebasing: header[..<8]), sums, isBigEndian)
            sums = Self.sum(page, sumsBefore, isBigEndian)
            guard sums == (Self.word(header, 16), Self.word(header, 20)) else { return nil }
            position += frameLength
            return body(frame, page)
        }
    }

    /// Adds bytes to the two running checksums of a log.
    fileprivate static func sum(
        _ bytes: UnsafeRawBufferPointer,
        _ sums: (UInt32, UInt32),
        _ isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        var (first, second) = sums
        var position = 0
        while position + 8 <= bytes.count {
            let left = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
            let right = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
            first = first &+ (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
            second = second &+ (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
            position += 8
        }
        return (first, second)
    }

    fileprivate static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    fileprivate static func read(
        _ file: borrowing OpenFile,
        _ path: String,
        _ bytes: inout [UInt8],
        at position: off_t
    ) throws -> Int {
        let count = bytes.withUnsafeMutableBytes { OpenFile.read(file.descriptor, into: $0, at: position) }
        guard count >= 0 else { throw SQLiteError.system(errno, path: path, while: "reading the log") }
        return count
    }
}

/// The frames of a log after those that SQLite would read.
///
/// Recovery ends at an invalid header or frame. After it may be frames of an earlier state of the log, which are in the file, parts of a
/// commit that a power cut interrupted, or, if a byte was damaged, acknowledged commits. Each frame there is checked against the checksum that the
/// frame before it states, as far as there is one.
private struct SQLiteLogRest {
    private static let mostDamagedFrames = 16

    /// Whether the header is valid.
    private var hasHeader = false
    /// The number of the last marked commit before the end; nil if none has a mark.
    private var markBefore: UInt64?
    /// The highest number among the marks of commits after the end.
    private var markAfter: UInt64?
    /// Whether a frame there says that it ends a transaction.
    private var hasCommit = false
    /// Whether the last transaction before the end has no end: its process died in its commit, or the log was cut.
    private var isCut = false

    /// - Parameter pageSize: that of the database file, which the log's header must have too.
    init(_ path: String, of pageSize: Int) throws {
        if let log = try SQLiteLogReader(path), log.pageSize == pageSize || pageSize < 512 {
            hasHeader = true
            while let isCommit = try log.next({ frame, _ in frame.isCommit }) { isCut = !isCommit }
            try search(path, log.offset, log.pageSize, salts: log.salts, log.isBigEndian)
            if markAfter != nil { markBefore = try Self.lastMark(path) }
        } else if pageSize >= 512 {
            let start = off_t(SQLiteLogReader.headerLength)
            for isBigEndian in [false, true] where markAfter == nil {
                try search(path, start, pageSize, salts: nil, isBigEndian)
            }
        }
    }

    /// Whether there are commits after the end that were certainly acknowledged.
    ///
    /// A log is restarted only when the file has all of it, and its header is on the disk before the first frame, so a power cut leaves no commit that
    /// the file lacks after an invalid header. Each commit is on the disk before the next one begins, so at most one commit after an invalid frame was
    /// not acknowledged.
    ///
    /// - Parameter mark: the number of the last marked commit in the file; nil if unknown.
    func isDamage(besides mark: UInt64?) -> Bool {
        guard let markAfter, let known = known(mark) else { return false }
        return hasHeader ? markAfter > known + 1 : markAfter > known
    }

    /// Whether there is a commit after the end that the file may lack.
    func dropsCommit(besides mark: UInt64?) -> Bool {
        if isCut { return true }
        guard hasCommit else { return false }
        guard let markAfter, let known = known(mark) else { return true }
        return markAfter > known
    }

    private func known(_ mark: UInt64?) -> UInt64? { [mark, markBefore].compactMap(\.self).max() }

    /// The number of the mark in the last transaction that SQLite would read.
    private static func lastMark(_ path: String) throws -> UInt64? {
        guard let log = try SQLiteLogReader(path) else { return nil }
        var (last, pending): (UInt64?, UInt64?) = (nil, nil)
        while let (isCommit, mark) = try log.next({ ($0.isCommit, SQLitePage($1, number: $0.page)?.logMark?.number) }) {
            pending = mark ?? pending
            if isCommit { (last, pending) = (pending ?? last, nil) }
        }
        return last
    }

    /// Reads the frames from an offset on, the first of which is damaged or follows a damaged header.
    ///
    /// - Parameter salts: those of the log; nil if the header does not say, so that frames must only have the same ones.
    private mutating func search(
        _ path: String,
        _ offset: off_t,
        _ pageSize: Int,
        salts: (UInt32, UInt32)?,
        _ isBigEndian: Bool
    ) throws {
        guard let file = try SQLiteLogReader.open(path) else { return }
        var bytes = [UInt8](repeating: 0, count: SQLiteLogReader.frameHeaderLength + pageSize)
        var (place, damaged, isInRun): (off_t, Int, Bool) = (offset, 0, false)
        var before: FrameHeader?
        var mark: UInt64?
        while damaged < Self.mostDamagedFrames {
            let count = try SQLiteLogReader.read(file, path, &bytes, at: place)
            guard count == bytes.count else {
                isCut = isCut || count > 0 && damaged == 0
                return
            }
            place += off_t(bytes.count)
            let isIntact = bytes.withUnsafeBytes { bytes in
                let header = FrameHeader(bytes)
                let expected = salts ?? before?.salts ?? header.salts
                defer { before = header }
                guard header.page != 0, header.salts == expected else { return false }
                let isIntact =
                    before.map { header.sums == FrameHeader.sums(bytes, after: $0.sums, isBigEndian) } ?? false
                // The mark has its own checksum, so a frame counts although the damage before it keeps it from being checked.
                guard isIntact || !isInRun else { return false }
                hasCommit = hasCommit || header.isCommit
                let page = UnsafeRawBufferPointer(rebasing: bytes[SQLiteLogReader.frameHeaderLength...])
                mark = SQLitePage(page, number: header.page)?.logMark?.number ?? mark
                if header.isCommit { (markAfter, mark) = ([markAfter, mark].compactMap(\.self).max(), nil) }
                return isIntact
            }
            // Frames after the run are of another state of the log.
            if isInRun, !isIntact { return }
            isInRun = isIntact
            if !isIntact { damaged += 1 }
        }
    }

    private struct FrameHeader {
        let page: UInt32
        let isCommit: Bool
        let salts: (UInt32, UInt32)
        let sums: (UInt32, UInt32)

        init(_ bytes: UnsafeRawBufferPointer) {
            func word(_ offset: Int) -> UInt32 { SQLiteLogReader.word(bytes, offset) }
            (page, isCommit) = (word(0), word(4) != 0)
            (salts, sums) = ((word(8), word(12)), (word(16), word(20)))
        }

        /// The checksums that a frame should state.
        static func sums(
            _ bytes: UnsafeRawBufferPointer,
            after sums: (UInt32, UInt32),
            _ isBigEndian: Bool
        ) -> (UInt32, UInt32) {
            let header = SQLiteLogReader.sum(UnsafeRawBufferPointer(rebasing: bytes[..<8]), sums, isBigEndian)
            let page = UnsafeRawBufferPointer(rebasing: bytes[SQLiteLogReader.frameHeaderLength...])
            return SQLiteLogReader.sum(page, header, isBigEndian)
        }
    }
}
