import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreSQLite

/// A byte of a log's header was damaged while the log had two acknowledged records. SQLite takes such a log for an empty one: the store opened without
/// the records, and closing it emptied the log, from whose frames they could have been saved. Now a log with commits behind the damage that the file
/// lacks is refused before SQLite opens it; where the bytes do not tell whether a commit was acknowledged, the log keeps its bytes until the next one.
struct SQLiteDamagedLogTests {
    enum Damage: String, CaseIterable {
        case magic, pageSize, otherPageSize, salt, zeroedHeader, firstFrame, firstSalt, firstChecksum, zeroedSector

        func apply(to log: inout Data) {
            switch self {
            case .magic: log[0] ^= 0x80
            case .pageSize: log[9] ^= 1
            case .otherPageSize:
                // Of 8,192 bytes, in a header whose checksum is right.
                log.replaceSubrange(8..<12, with: [0, 0, 0x20, 0])
                var sums: (UInt32, UInt32) = (0, 0)
                func word(_ place: Int) -> UInt32 {
                    let bytes = (0..<4).map { UInt32(log[place + $0]) }
                    // The magic number says in which order the checksums read the bytes.
                    return (log[3] & 1 == 1 ? bytes : bytes.reversed()).reduce(0) { $0 << 8 | $1 }
                }
                for place in stride(from: 0, to: 24, by: 8) {
                    sums.0 &+= word(place) &+ sums.1
                    sums.1 &+= word(place + 4) &+ sums.0
                }
                for (place, sum) in [(24, sums.0), (28, sums.1)] {
                    log.replaceSubrange(
                        place..<place + 4,
                        with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
                    )
                }
            case .salt: log[17] ^= 4
            case .zeroedHeader: log.replaceSubrange(0..<32, with: Data(count: 32))
            case .firstFrame: log[32 + 24 + 100] ^= 1
            case .firstSalt: log[32 + 9] ^= 1
            case .firstChecksum: log[32 + 17] ^= 1
            case .zeroedSector: log.replaceSubrange(0..<4_096, with: Data(count: 4_096))
            }
        }
    }

    private let files: SQLiteTestStore

    init() throws { files = try SQLiteTestStore() }

    private func read(_ suffix: String) -> Data {
        (try? Data(contentsOf: URL(fileURLWithPath: files.path + suffix))) ?? Data()
    }

    /// Writes one commit for each name, and returns the file and the log before the store is closed, and the file afterwards.
    private func write(_ names: [String]) throws -> (file: Data, log: Data, closed: Data) {
        let store = try files.open()
        for name in names { try store.save(HabitTag(name: name)) }
        let (file, log) = (read(""), read("-wal"))
        store.close()
        return (file, log, read(""))
    }

    @Test(arguments: Damage.allCases)
    func acknowledgedCommitsBehindTheDamageAreRefusedAndKept(damage: Damage) throws {
        _ = try write(["a"])
        let written = try write(["b", "c", "d"])
        var log = written.log
        damage.apply(to: &log)
        let file = written.file
        let modes: [SQLiteHabitStore.Options] = [.init(), .init(createsFile: false), .init(isReadOnly: true)]
        for options in modes {
            try files.put(file, log)
            let error = #expect(throws: HabitStoreError.self) { try files.open(options) }
            #expect(error?.code == .corrupt)
            #expect(error?.message.contains("its log (store.sqlite-wal) is damaged") == true)
            #expect(error?.message.contains("mv \(files.path)-wal \(files.path)-wal.aside") == true)
            #expect(throws: HabitStoreError.self) { try SQLiteHabitStore.outline(ofStoreAt: files.path) }
            #expect(read("") == file && read("-wal") == log, "the refusal has written")
        }
        try FileManager.default.removeItem(atPath: files.path + "-wal")
        #expect(try files.names() == ["a"])
    }

    /// A log that began anew has its header on the disk before its first frame, so no power cut leaves this.
    @Test(arguments: [Damage.magic, .pageSize, .otherPageSize, .salt, .zeroedHeader])
    func aSingleCommitBehindADamagedHeaderIsRefused(damage: Damage) throws {
        _ = try write(["a"])
        let written = try write(["b"])
        var log = written.log
        damage.apply(to: &log)
        try files.put(written.file, log)
        #expect(throws: HabitStoreError.self) { try files.open() }
        #expect(read("") == written.file && read("-wal") == log)
    }

    /// Damage in the middle of the log: SQLite would read what is before it.
    @Test func twoCommitsBehindADamagedFrameAreRefused() throws {
        _ = try write(["a"])
        let store = try files.open()
        try store.save(HabitTag(name: "b"))
        let place = read("-wal").count
        for name in ["c", "d"] { try store.save(HabitTag(name: name)) }
        let file = read("")
        var log = read("-wal")
        store.close()
        log[place + 24 + 100] ^= 1
        try files.put(file, log)
        #expect(throws: HabitStoreError.self) { try files.open() }
        #expect(read("") == file && read("-wal") == log)
    }

    /// What a power cut leaves of an unfinished commit, or damage to an acknowledged one: only someone who knows what was acknowledged can tell.
    @Test func aSingleCommitThatSQLiteDropsStaysUntilTheNextOne() throws {
        _ = try write(["a"])
        let written = try write(["b"])
        var log = written.log
        Damage.firstFrame.apply(to: &log)
        let file = written.file
        try files.put(file, log)
        #expect(try files.names() == ["a"])
        #expect(read("") == file && read("-wal") == log, "an opening without a write has written")
        let store = try files.open()
        #expect(throws: CancellationError.self) { try store.write { _ in throw CancellationError() } }
        store.close()
        #expect(read("") == file && read("-wal") == log, "a refused write has written")
        _ = try write(["c"])
        #expect(try files.names() == ["a", "c"])
        #expect(read("-wal").isEmpty, "the log is emptied again")
    }

    /// A log that lost its end was emptied by the opening that was refused because of the acknowledged commit there, whole frames of it included.
    @Test(arguments: [1, 100, 4_096, 4_120, 5_000]) func aLogThatWasCutInItsLastCommitStaysUntilTheNextOne(cut: Int)
        throws
    {
        _ = try write(["a"])
        let written = try write(["b", "c"])
        let (file, log) = (written.file, Data(written.log.dropLast(cut)))
        try files.put(file, log)
        #expect(try files.names() == ["a", "b"])
        #expect(read("") == file && read("-wal") == log, "an opening without a write has written")
        _ = try write(["d"])
        #expect(try files.names() == ["a", "b", "d"])
        #expect(read("-wal").isEmpty, "the log is emptied again")
    }

    /// A power cut tore the header of a log that began anew: its frames are from before, and the file has all of them.
    @Test(arguments: [Damage.magic, .pageSize, .otherPageSize, .salt, .zeroedHeader, .zeroedSector])
    func framesThatTheFileHasAreNoDamage(damage: Damage) throws {
        _ = try write(["a"])
        let written = try write(["b", "c", "d"])
        var log = written.log
        damage.apply(to: &log)
        try files.put(written.closed, log)
        #expect(try files.names() == ["a", "b", "c", "d"])
        #expect(read("-wal").isEmpty)
    }

    /// The log began anew, and its new header is valid, with frames of its earlier state behind it.
    @Test func framesOfAnEarlierStateOfTheLogAreNoDamage() throws {
        _ = try write(["a"])
        let old = try write(["b", "c", "d"])
        let new = try write(["e"])
        for length in stride(from: 32, through: new.log.count, by: 997) {
            var log = old.log
            log.replaceSubrange(0..<length, with: new.log.prefix(length))
            try files.put(old.closed, log)
            let isComplete = length == new.log.count
            #expect(try files.names() == ["a", "b", "c", "d"] + (isComplete ? ["e"] : []), "\(length) bytes")
        }
        try files.put(old.closed, new.log + old.log.dropFirst(new.log.count))
        #expect(try files.names() == ["a", "b", "c", "d", "e"])
    }
}
