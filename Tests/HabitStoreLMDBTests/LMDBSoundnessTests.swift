import CLMDB
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// When opening a file may skip the walk over every page, and when not.
@Suite("LMDB stores that were walked before")
struct LMDBSoundnessTests {
    private let folder: TemporaryFolder
    private var path: String { folder.store }

    init() throws {
        folder = try TemporaryFolder()
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.insert((0..<300).map { Habit(name: "habit \($0)") })
        store.close()
    }

    /// Whether the next opening would skip the walk.
    private func isMarked(_ path: String? = nil) throws -> Bool {
        let environment = try LMDBEnvironment.open(path: path ?? self.path, options: LMDBWrapperTestSample.options())
        defer { environment.close() }
        return try environment.isMarkedSound()
    }

    private func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    /// The position of a leaf page's number; changing it damages the page, whatever the page contains.
    private func placeOfDamage() throws -> Int {
        let whole = try bytes()
        let page = try #require(
            stride(from: whole.count - 4_096, to: 8_192, by: -4_096).first { offset in
                let header = whole[offset..<offset + 16]
                let number = header.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                return number == offset / 4_096 && header[offset + 10] == 2
            }
        )
        return page
    }

    /// Writes into the file like a program that knows nothing of LMDB.
    private func overwrite(at place: Int) throws {
        let byte = try bytes()[place]
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: UInt64(place))
        try file.write(contentsOf: Data([byte ^ 1]))
        try file.close()
    }

    private func openingError(_ isReadOnly: Bool = false) -> HabitStoreError.Code? {
        do {
            try LMDBHabitStore(path: path, schema: HabitSchema.current, options: .init(isReadOnly: isReadOnly)).close()
            return nil
        } catch { return (error as? HabitStoreError)?.code }
    }

    @Test func commitsAndAbortsKeepTheMark() throws {
        #expect(try isMarked())
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(Habit(name: "another"))
        #expect(try store.delete(Habit.self, where: #Predicate { $0.name == "habit 7" }) == 1)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try store.write { transaction in
                for number in 0..<200 { try transaction.save(Habit(name: "gone \(number)")) }
                throw Stop()
            }
        }
        try store.write { _ in }
        // Before closing: a killed process leaves this state.
        #expect(try isMarked())
        store.close()
        #expect(try isMarked())
        #expect(try LMDBFileInspector.walk(path: path).isEmpty)
    }

    @Test func theMarkIsForItsOwnerOnlyAndCopiesAreWithoutIt() throws {
        let marks = LMDBSoundFile.path(ofStore: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: marks)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.core.engine.backup(to: folder.path("backup"))
        store.close()
        #expect(!FileManager.default.fileExists(atPath: folder.path("backup-sound")))
        // Even a copy of the mark does not apply, because it is about another file.
        try FileManager.default.copyItem(atPath: marks, toPath: folder.path("backup-sound"))
        #expect(try !isMarked(folder.path("backup")))
    }

    @Test(arguments: 0..<20)
    func aChangeRightBehindACommitIsFound(round: Int) throws {
        let place = try placeOfDamage()
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.write { try $0.save(HabitTag(name: "tag \(round)")) }
        store.close()
        // Within the same tick of the system's clock.
        try overwrite(at: place + 4_090)
        #expect(try !isMarked(), "round \(round)")
    }

    @Test func damageIsFoundThoughTheTimeOfModificationWasPutBack() throws {
        var before = stat()
        #expect(stat(path, &before) == 0)
        try overwrite(at: try placeOfDamage())
        #if canImport(Darwin)
        let times = [before.st_atimespec, before.st_mtimespec]
        #else
        let times = [before.st_atim, before.st_mtim]
        #endif
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(openingError() == .corrupt)
        #expect(openingError(true) == .corrupt)
    }

    @Test func aCommitOverAForeignChangeVouchesForNothing() throws {
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        defer { store.close() }
        var descriptor: mdb_filehandle_t = -1
        #expect(mdb_env_get_fd(store.core.engine.environment.core.environment, &descriptor) == 0)
        // A byte beyond the last page, which LMDB never reads.
        let length = try bytes().count
        #expect(pwrite(descriptor, [0], 1, off_t(length)) == 1)
        #expect(try !isMarked())
        try store.save(Habit(name: "later"))
        #expect(try !isMarked())
        store.close()
        #expect(openingError() == nil)
        #expect(try isMarked(), "the opening has walked the file and marked it")
    }

    @Test func anotherStartOfTheSystemAnOldWalkAndADamagedMarkAreNotBelieved() throws {
        let file = try #require(LMDBSoundFile(store: path, isMaking: false))
        let mark = try #require(file.mark)
        var other = mark
        other.boot = LMDBBoot(high: 1, low: 2)
        file.mark = other
        #expect(try !isMarked())
        other = mark
        other.walkedAt -= LMDBSoundMark.longestTrustSeconds
        file.mark = other
        #expect(try !isMarked())
        other.walkedAt = mark.walkedAt + 3_600
        file.mark = other
        #expect(try !isMarked(), "a walk in the future")
        file.mark = mark
        #expect(try isMarked())
        let marks = try #require(FileHandle(forUpdatingAtPath: LMDBSoundFile.path(ofStore: path)))
        try marks.seek(toOffset: 60)
        try marks.write(contentsOf: Data([0xA5]))
        try marks.close()
        #expect(try !isMarked())
        #expect(file.mark == nil)
    }

    /// A mark with the right checksum and the least number as its walk's time crashed the process: calculating its age overflowed.
    @Test(arguments: [0, 1, -1, 1 << 31, .max, .min] as [Int64])
    func aMarkOfAnyNumbersIsNotBelievedAndEndsNothing(_ number: Int64) throws {
        let file = try #require(LMDBSoundFile(store: path, isMaking: false))
        let mark = try #require(file.mark)
        let fields: [(inout LMDBSoundMark) -> Void] = [
            { $0.walkedAt = number }, { $0.transaction = UInt64(bitPattern: number) },
            { $0.file = $0.file.with(length: UInt64(bitPattern: number)) },
            { $0.file = $0.file.with(modified: number) },
            { $0.file = $0.file.with(changed: number) },
            { $0.boot = LMDBBoot(high: UInt64(bitPattern: number), low: UInt64(bitPattern: number)) },
        ]
        for (place, change) in fields.enumerated() {
            var other = mark
            change(&other)
            // In a new file the transaction number is small, too.
            guard other != mark else { continue }
            file.mark = other
            #expect(try !isMarked(), "field \(place)")
            #expect(openingError(true) == nil, "field \(place)")
        }
        let bytes = withUnsafeBytes(of: number.littleEndian) { Data($0) }
        for offset in stride(from: 0, to: 104, by: 8) {
            file.mark = mark
            let handle = try #require(FileHandle(forUpdatingAtPath: LMDBSoundFile.path(ofStore: path)))
            try handle.seek(toOffset: UInt64(offset))
            try handle.write(contentsOf: bytes)
            try handle.close()
            #expect(openingError(true) == nil, "offset \(offset)")
            #expect(openingError() == nil, "offset \(offset)")
        }
    }

    @Test func withoutAMarkReadingMakesNoneAndWritingDoes() throws {
        let marks = LMDBSoundFile.path(ofStore: path)
        try FileManager.default.removeItem(atPath: marks)
        #expect(openingError(true) == nil)
        #expect(!FileManager.default.fileExists(atPath: marks))
        #expect(openingError() == nil)
        #expect(try isMarked())
    }

    @Test func whereNoMarkCanBeWrittenEveryOpeningWalks() throws {
        let marks = LMDBSoundFile.path(ofStore: path)
        try FileManager.default.removeItem(atPath: marks)
        try FileManager.default.createDirectory(atPath: marks, withIntermediateDirectories: false)
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
        try store.save(Habit(name: "written all the same"))
        store.close()
        #expect(try !isMarked())
        try overwrite(at: try placeOfDamage())
        #expect(openingError() == .corrupt)
    }

    // MARK: Two processes, each with its own keeper

    @Test func twoProcessesHandTheMarkToEachOther() throws {
        let file = try SharedFile(folder.path("shared"))
        defer { withExtendedLifetime(file) {} }
        let (descriptor, one, two, at) = (file.descriptor, file.one, file.two, file.at)
        #expect(two.isMarked { at(0) })
        for transaction in stride(from: UInt64(1), to: 20, by: 2) {
            for (keeper, number) in [(one, transaction), (two, transaction + 1)] {
                keeper.beginWrite(transaction: number, descriptor: descriptor)
                #expect(pwrite(descriptor, [UInt8(number)], 1, 5) == 1)
                keeper.endWrite(at(number))
                #expect(one.isMarked { at(number) } && two.isMarked { at(number) })
            }
        }
        // A process that died in between leaves its change unmarked, and no process vouches for it.
        one.beginWrite(transaction: 21, descriptor: descriptor)
        #expect(pwrite(descriptor, [21], 1, 5) == 1)
        two.beginWrite(transaction: 22, descriptor: descriptor)
        #expect(pwrite(descriptor, [22], 1, 5) == 1)
        two.endWrite(at(22))
        #expect(!two.isMarked { at(22) })
    }

    /// One process has committed but not yet marked it when the other begins, which waits a little. A thread may be suspended for longer than that,
    /// so one of several attempts has to succeed.
    @Test func aMarkThatIsAboutToBeMadeIsWaitedFor() throws {
        var isHandedOn = false
        for round in 0..<100 where !isHandedOn {
            let file = try SharedFile(folder.path("shared-\(round)"))
            defer { withExtendedLifetime(file) {} }
            let (descriptor, one, two, at) = (file.descriptor, file.one, file.two, file.at)
            one.beginWrite(transaction: 1, descriptor: descriptor)
            #expect(pwrite(descriptor, [1], 1, 5) == 1)
            let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread {
                begun.signal()
                usleep(1_000)
                one.endWrite(at(1))
                ended.signal()
            }
            .start()
            begun.wait()
            two.beginWrite(transaction: 2, descriptor: descriptor)
            two.endWrite(at(2))
            ended.wait()
            isHandedOn = one.isMarked { at(2) }
        }
        #expect(isHandedOn)
    }
}

/// A file that two keepers use, like those of two processes, and that the first one has walked.
private final class SharedFile {
    let descriptor: Int32
    let one: LMDBSoundKeeper
    let two: LMDBSoundKeeper
    /// The state of the file after a transaction.
    let at: @Sendable (UInt64) -> LMDBSoundKeeper.Position

    init(_ path: String) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: Data(count: 100)))
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        (self.descriptor, one, two) = (descriptor, LMDBSoundKeeper(store: path), LMDBSoundKeeper(store: path))
        at = { .init(descriptor: descriptor, transaction: $0) }
        one.endWalk(try #require(one.beginWalk(at(0))), at(0))
    }

    deinit { close(descriptor) }
}

extension LMDBFileState {
    fileprivate func with(length: UInt64? = nil, modified: Int64? = nil, changed: Int64? = nil) -> Self {
        LMDBFileState(
            identity: identity,
            length: length ?? self.length,
            modified: modified ?? self.modified,
            changed: changed ?? self.changed
        )
    }
}
