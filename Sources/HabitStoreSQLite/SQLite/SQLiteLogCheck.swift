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
    }

    /// Nil if they belong together, or if nothing indicates that they do not.
    let fault: Fault?
    private let fileMark: SQLiteLogMark?
    private let salts: UInt64?

    /// Examines both.
    ///
    /// - Parameter readFile: reads bytes of the database file from a position; nil if the file has fewer.
    init(path: String, readFile: (_ count: Int, _ position: Int64) -> [UInt8]?) throws {
        // The file is read first: pages that are checkpointed from the log meanwhile are then still in that log.
        let file = SQLiteFileState(readFile)
        fileMark = file?.mark
        guard let file, let log = try SQLiteLogReader(path + "-wal") else {
            (fault, salts) = (nil, nil)
            return
        }
        salts = UInt64(log.salts.0) << 32 | UInt64(log.salts.1)
        fault = try SQLiteLogState(log, with: file)?.fault(with: file)
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
    func requireOwnLog() throws {
        var last: SQLiteLogCheck?
        for _ in 0..<Self.mostLooks {
            guard try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 else { return }
            let check = try SQLiteLogCheck(path: path, readFile: { fileBytes($0, at: $1) })
            guard let fault = check.fault else { return }
            if check == last { throw Self.error(fault, path) }
            last = check
            usleep(Self.pauseMicroseconds)
        }
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
            }
        return .damage(sentence, at: HabitStoreError.Location(path: path))
    }
}
