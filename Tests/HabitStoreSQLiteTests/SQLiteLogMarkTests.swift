import CSQLite
import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreSQLite

/// A backup of `store.sqlite` was restored next to the newer log: three of eight entries were served, and writes on top were acknowledged. An older
/// log was restored next to the current file: commands refused it, but only after SQLite had copied the log over the file. SQLite's log does not say
/// which file it was written for; now every commit leaves a mark in both, and a mismatched pair is refused before SQLite opens it, with every byte
/// unchanged.
struct SQLiteLogMarkTests {
    /// A store's file and log at one time.
    struct Moment {
        var file: Data
        var log: Data

        init(_ path: String) throws {
            file = try Data(contentsOf: URL(fileURLWithPath: path))
            log = (try? Data(contentsOf: URL(fileURLWithPath: path + "-wal"))) ?? Data()
        }
    }

    private let files: SQLiteTestStore

    init() throws { files = try SQLiteTestStore() }

    /// Writes one commit for each tag, and returns the files before them, after each, and after closing.
    private func moments(_ names: [String], closes: Bool = true) throws -> [Moment] {
        let store = try files.open()
        var moments = [try Moment(files.path)]
        for name in names {
            try store.save(HabitTag(name: name))
            moments.append(try Moment(files.path))
        }
        store.close()
        return closes ? moments + [try Moment(files.path)] : moments
    }

    private func expectRefusal(_ file: Data, _ log: Data, sharedMemory: Data? = nil, _ words: String) throws {
        let modes: [SQLiteHabitStore.Options] = [.init(), .init(createsFile: false), .init(isReadOnly: true)]
        for options in modes {
            try files.put(file, log, sharedMemory: sharedMemory)
            let before = try files.folder.names()
            let error = #expect(throws: HabitStoreError.self) { try files.open(options) }
            #expect(error?.code == .corrupt)
            #expect(error?.message.contains(words) == true, "\(error.map(String.init(describing:)) ?? "")")
            #expect(error?.message.contains("mv \(files.path)-wal \(files.path)-wal.aside") == true)
            #expect(throws: HabitStoreError.self) { try SQLiteHabitStore.outline(ofStoreAt: files.path) }
            let after = try Moment(files.path)
            #expect(after.file == file && after.log == log, "the refusal has written")
            #expect(try files.folder.names() == before)
            if let sharedMemory {
                #expect(try Data(contentsOf: URL(fileURLWithPath: files.path + "-shm")) == sharedMemory)
            }
        }
    }

    // MARK: Mismatched pairs

    @Test func aFileThatIsOlderThanItsLogIsRefused() throws {
        let early = try moments(["a", "b"])
        _ = try moments(["c"])
        let late = try moments(["d", "e"])
        for older in [early[0], early[2], try #require(early.last)] {
            for log in late[1...2].map(\.log) { try expectRefusal(older.file, log, "the file is older than its log") }
        }
        try files.put(late[0].file, late[2].log)
        #expect(try files.names() == ["a", "b", "c", "d", "e"])
    }

    @Test func aLogThatIsOlderThanItsFileIsRefusedAndTakingItAwayIsEnough() throws {
        let early = try moments(["a", "b"])
        let late = try #require(try moments(["c", "d"]).last)
        for log in early[1...2].map(\.log) {
            try expectRefusal(late.file, log, "is from before the file's last changes")
            try FileManager.default.moveItem(atPath: files.path + "-wal", toPath: files.path + "-wal.aside")
            #expect(try files.names() == ["a", "b", "c", "d"])
            try FileManager.default.removeItem(atPath: files.path + "-wal.aside")
        }
    }

    /// The log was copied before a further checkpoint: its end is in the file already, and its middle would undo that.
    @Test func anEarlierStateOfTheSameLogIsRefusedOnceTheFileHasMoreOfIt() throws {
        let store = try files.open()
        try store.save(HabitTag(name: "a"))
        let early = try Moment(files.path)
        for name in ["b", "c"] { try store.save(HabitTag(name: name)) }
        let shell = try SQLiteConnection(path: files.path, mode: .readWrite)
        _ = try shell.checkpoint(.passive)
        shell.close()
        let late = try Moment(files.path)
        store.close()
        #expect(early.log.prefix(32) == late.log.prefix(32))
        try expectRefusal(late.file, early.log, "is from before the file's last changes")
        try files.put(late.file, late.log)
        #expect(try files.names() == ["a", "b", "c"])
    }

    /// An app whose file was overwritten by an older one must not copy its log into that one when it ends.
    @Test func aLogIsNotCopiedIntoAFileThatWasWrittenOver() throws {
        let early = try #require(try moments(["a"]).last)
        _ = try moments(["b"])
        let store = try files.open()
        try store.save(HabitTag(name: "c"))
        let late = try Moment(files.path)
        let handle = try #require(FileHandle(forUpdatingAtPath: files.path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: early.file)
        try handle.close()
        store.close()
        #expect(try Moment(files.path).file == early.file)
        #expect(try Moment(files.path).log == late.log)
        #expect(throws: HabitStoreError.self) { try files.open() }
        try files.put(late.file, late.log)
        #expect(try files.names() == ["a", "b", "c"])
    }

    @Test func theLogOfAnotherStoreIsRefused() throws {
        let other = try SQLiteTestStore()
        let theirs = try other.open()
        for name in ["x", "y"] { try theirs.save(HabitTag(name: name)) }
        let foreign = try Moment(other.path)
        theirs.close()
        let mine = try #require(try moments(["a", "b"]).last)
        try expectRefusal(mine.file, foreign.log, "its log")
        try files.put(mine.file, Data())
        let further = try #require(try moments(["c", "d", "e"]).last)
        try expectRefusal(further.file, foreign.log, "its log")
    }

    /// Two histories that start from the same file have marks with the same numbers.
    @Test func theLogOfAnotherCopyOfTheStoreIsRefused() throws {
        let common = try #require(try moments(["a"]).last)
        let first = try moments(["b", "c"])
        try files.put(common.file, Data())
        let second = try moments(["d", "e"])
        for file in [second[2].file, try #require(second.last).file] where file != common.file {
            try expectRefusal(file, first[2].log, "belongs to another file")
        }
        try expectRefusal(try #require(second.last).file, first[1].log, "its log")
    }

    /// `VACUUM INTO` keeps the marks and renumbers every page.
    @Test func aRebuiltCopyIsRefusedBesideTheLogOfTheOriginal() throws {
        _ = try moments((0..<200).map { "tag \($0)" })
        let store = try files.open()
        try store.save(HabitTag(name: "a"))
        let copy = files.folder.file("copy.sqlite")
        let log = try Moment(files.path).log
        try store.backup(to: copy)
        store.close()
        try expectRefusal(try Data(contentsOf: URL(fileURLWithPath: copy)), log, "its log")
    }

    @Test func whatSharedMemoryIsLeftMakesNoDifference() throws {
        let early = try moments(["a"])
        let store = try files.open()
        try store.save(HabitTag(name: "b"))
        let shared = try Data(contentsOf: URL(fileURLWithPath: files.path + "-shm"))
        let log = try Moment(files.path).log
        store.close()
        let late = try #require(try moments(["c"]).last)
        try expectRefusal(late.file, log, sharedMemory: shared, "is from before the file's last changes")
        try expectRefusal(early[0].file, log, sharedMemory: shared, "the file is older than its log")
    }

    /// A store that only earlier versions have written to has no marks. The counters in its headers reveal less, but something.
    @Test func withoutMarksTheHeadersCountersTell() throws {
        _ = try moments(["a"])
        try files.shell("DELETE FROM habitstore_metadata WHERE key = 'logMark'")
        let early = try Moment(files.path)
        let shell = try SQLiteConnection(path: files.path, mode: .readWrite)
        try shell.exec("CREATE INDEX one ON Tag (name, id)")
        let log = try Moment(files.path).log
        shell.close()
        try files.put(early.file, log)
        #expect(try SQLiteLogCheck(path: files.path, readFile: readFile).fault == nil)
        for index in ["two", "three"] {
            let other = try SQLiteConnection(path: files.path, mode: .readWrite)
            try other.exec("CREATE INDEX \(index) ON Tag (name, id)")
            _ = try other.checkpoint(.truncate)
            other.close()
        }
        let late = try Moment(files.path)
        try files.put(late.file, log)
        #expect(try SQLiteLogCheck(path: files.path, readFile: readFile).fault == .logIsOlder)
    }

    private func readFile(_ count: Int, at position: Int64) -> [UInt8]? {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: files.path)) else { return nil }
        let end = Int(position) + count
        return end <= data.count ? Array(data[Int(position)..<end]) : nil
    }

    // MARK: Matching pairs

    /// A killed process or a power cut can leave the log up to any commit, and the file with pages of the log up to any commit, some of them, or the
    /// last one torn.
    @Test func whateverACrashLeavesIsOpened() throws {
        _ = try moments((0..<60).map { "tag \($0)" })
        let moments = try moments(["a", "b", "c", "d"], closes: false)
        let before = (0..<60).map { "tag \($0)" }
        let base = moments[0].file
        for (ending, moment) in moments.enumerated().dropFirst() {
            let expected = (before + ["a", "b", "c", "d"].prefix(ending)).sorted()
            for copied in 1...ending {
                let pages = pages(ofLog: moments[copied].log)
                for count in 0...pages.count {
                    var file = base
                    for (number, page) in pages.prefix(count) { write(page, number, into: &file) }
                    try files.put(file, moment.log)
                    #expect(try files.names() == expected, "\(count) pages of commit \(copied) of \(ending)")
                    // The sector size of disks that tear pages.
                    guard count < pages.count else { continue }
                    let (number, page) = pages[count]
                    for sectors in [1, 3, 7] {
                        var torn = file
                        write(page.prefix(sectors * 512), number, into: &torn)
                        try files.put(torn, moment.log)
                        #expect(try files.names() == expected, "page \(number) torn, commit \(copied) of \(ending)")
                    }
                }
            }
        }
    }

    @Test func aLogThatWasCutOffAnywhereIsOpened() throws {
        let moments = try moments(["a", "b", "c"], closes: false)
        let (base, log) = (moments[0].file, moments[3].log)
        for length in stride(from: 0, through: log.count, by: 1_373) {
            try files.put(base, log.prefix(length))
            let committed = moments.lastIndex { $0.log.count <= length } ?? 0
            #expect(try files.names() == Array(["a", "b", "c"].prefix(committed)), "\(length) bytes")
        }
    }

    /// The stock shell and programs of earlier versions write no marks, and may checkpoint.
    @Test func whatAProgramWithoutMarksWritesIsTaken() throws {
        _ = try moments(["a"])
        let shell = try SQLiteConnection(path: files.path, mode: .readWrite)
        try shell.exec("UPDATE Tag SET name = 'A'")
        let unmarked = try Moment(files.path)
        shell.close()
        try files.put(unmarked.file, unmarked.log)
        #expect(try files.names() == ["A"])
        let again = try moments(["b"], closes: false)
        try files.put(again[1].file, again[1].log)
        try files.shell(
            "INSERT INTO habitstore_metadata VALUES ('foo', 'bar'); PRAGMA wal_checkpoint(TRUNCATE); VACUUM"
        )
        #expect(try files.names() == ["A", "b"])
        try files.put(again[0].file, again[1].log)
        #expect(try files.names() == ["A", "b"])
    }

    /// A file that no version with marks has written to, and the log of the first commit that has one.
    @Test func theFirstMarkIsTaken() throws {
        _ = try moments(["a"])
        try files.shell("DELETE FROM habitstore_metadata WHERE key = 'logMark'")
        let first = try moments(["b", "c"], closes: false)
        try files.put(first[0].file, first[2].log)
        #expect(try files.names() == ["a", "b", "c"])
    }

    @Test func aWriteThatChangesNothingWritesNothing() throws {
        let store = try files.open()
        try store.save(HabitTag(name: "a"))
        let before = try Moment(files.path)
        try store.write { _ in }
        #expect(try Moment(files.path).log == before.log)
        store.close()
    }

    /// Writes that arrive together share a commit, and a commit has one mark: two would leave a gap into which a file could fall.
    @Test func everyCommitHasOneMark() throws {
        let store = try files.open()
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            #expect(throws: Never.self) { try store.save(HabitTag(name: "tag \(number)")) }
        }
        var marks: [SQLiteLogMark] = []
        let log = try #require(try SQLiteLogReader(files.path + "-wal"))
        while let mark = try log.next({ SQLitePage($1, number: $0.page)?.logMark }) {
            if let mark { marks.append(mark) }
        }
        store.close()
        #expect(marks.count > 1)
        for (one, next) in zip(marks, marks.dropFirst()) {
            #expect(next.number == one.number + 1)
            #expect(next.previous == one.id)
        }
    }

    @Test func onlyTheWholeTextOfAMarkIsOne() throws {
        var text = SQLiteLogMark(after: SQLiteLogMark(after: nil, schemaCookie: 3), schemaCookie: 4).text
        let mark = text.withUTF8 { SQLiteLogMark(UnsafeRawBufferPointer($0)) }
        #expect(mark?.number == 2)
        #expect(mark?.schemaCookie == 4)
        #expect(mark?.text == text)
        for index in text.utf8.indices {
            var bytes = Array(text.utf8)
            bytes[text.utf8.distance(from: text.utf8.startIndex, to: index)] ^= 1
            #expect(bytes.withUnsafeBytes { SQLiteLogMark($0) } == nil)
        }
    }

    // MARK: Bytes

    /// The last version of each page in a log, by ascending numbers, as a checkpoint writes them.
    private func pages(ofLog log: Data) -> [(number: Int, page: Data)] {
        var pages: [Int: Data] = [:]
        var offset = 32
        while offset + 24 + 4_096 <= log.count {
            let number = log[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
            pages[number] = log[(offset + 24)..<(offset + 24 + 4_096)]
            offset += 24 + 4_096
        }
        return pages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func write(_ bytes: Data, _ page: Int, into file: inout Data) {
        let start = (page - 1) * 4_096
        if file.count < start + bytes.count { file += Data(count: start + bytes.count - file.count) }
        file.replaceSubrange(start..<(start + bytes.count), with: bytes)
    }
}
