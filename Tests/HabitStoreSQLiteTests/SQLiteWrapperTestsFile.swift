import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("SQLite wrapper: files")
struct SQLiteWrapperTestsFile {
    private static let modes: [SQLiteOpenMode] = [.readOnly, .readWrite, .create]

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func write(_ data: Data, to path: String) throws { try data.write(to: URL(fileURLWithPath: path)) }

    @Test(arguments: modes)
    func aFileOfAnotherKindIsRefusedAndLeftAlone(mode: SQLiteOpenMode) throws {
        let folder = try TemporaryFolder()
        let contents = Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) })
        try write(contents, to: folder.file())
        try expectSQLiteWrapperError(.notAStore) { _ = try SQLiteDatabase(path: folder.file(), mode: mode) }
        #expect(try bytes(folder.file()) == contents)
        #expect(try folder.names() == ["store.sqlite"])
    }

    @Test(arguments: modes)
    func aFolderAndAPipeAreNoStores(mode: SQLiteOpenMode) throws {
        let folder = try TemporaryFolder()
        try expectSQLiteWrapperError(.notAStore) { _ = try SQLiteDatabase(path: folder.path, mode: mode) }
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        try expectSQLiteWrapperError(.notAStore) { _ = try SQLiteDatabase(path: folder.file("pipe"), mode: mode) }
    }

    @Test func aMissingFileIsCreatedOnlyWhenAskedFor() throws {
        let folder = try TemporaryFolder()
        for mode in [SQLiteOpenMode.readOnly, .readWrite] {
            try expectSQLiteWrapperError(.notFound) { _ = try SQLiteDatabase(path: folder.file(), mode: mode) }
        }
        for path in ["", "a\u{0}b", folder.file("no/such/folder.sqlite")] {
            try expectSQLiteWrapperError(.notFound) { _ = try SQLiteDatabase(path: path, mode: .create) }
        }
        let long = folder.file(String(repeating: "x/", count: 400))
        try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: true)
        try expectSQLiteWrapperError(.limitExceeded) { _ = try SQLiteDatabase(path: long + "/s", mode: .create) }
        #expect(symlink(folder.file("gone"), folder.file("link")) == 0)
        #expect(throws: HabitStoreError.self) { _ = try SQLiteDatabase(path: folder.file("link"), mode: .create) }
        try folder.makeStore().close()
        #expect(try SQLiteFiles.sizeBytes(of: folder.file()) > 0)
    }

    @Test func everyFileIsForItsOwnerOnly() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 1)
        for name in ["", "-wal", "-shm", "-lock"] {
            var info = stat()
            #expect(stat(folder.file() + name, &info) == 0)
            #expect(info.st_mode & 0o777 == 0o600, "\(name)")
        }
        try database.close()
    }

    @Test(arguments: modes)
    func anEmptyFileWithAFullLogIsRefusedAndTheLogIsKept(mode: SQLiteOpenMode) throws {
        let folder = try TemporaryFolder()
        try write(Data(), to: folder.file())
        try write(Data(repeating: 1, count: 5_000), to: folder.file() + "-wal")
        try expectSQLiteWrapperError(.corrupt) { _ = try SQLiteDatabase(path: folder.file(), mode: mode) }
        unlink(folder.file())
        #expect(throws: HabitStoreError.self) { _ = try SQLiteDatabase(path: folder.file(), mode: mode) }
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") == 5_000)
        #expect(try folder.names() == ["store.sqlite-wal"])
    }

    @Test func anEmptyFileIsAStoreOnlyToCreate() throws {
        let folder = try TemporaryFolder()
        try write(Data(), to: folder.file())
        for mode in [SQLiteOpenMode.readOnly, .readWrite] {
            try expectSQLiteWrapperError(.notAStore) { _ = try SQLiteDatabase(path: folder.file(), mode: mode) }
        }
        try folder.makeStore().close()
    }

    @Test(arguments: modes)
    func aTruncatedFileIsAnErrorValue(mode: SQLiteOpenMode) throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 500)
        let whole = try bytes(path)
        for length in [
            60, 100, 2_000, 4_096, 4_097, whole.count / 2, whole.count - 4_096, whole.count - 100, whole.count - 1,
        ] {
            try write(whole.prefix(length), to: path)
            let error = try requireSQLiteWrapperError(.corrupt) { _ = try SQLiteDatabase(path: path, mode: mode) }
            #expect(error.message.contains("truncated"), "\(length): \(error)")
            #expect(try bytes(path).count == length)
        }
        try write(whole, to: path)
        let database = try SQLiteDatabase(path: path, mode: mode)
        #expect(try database.rowCount() == 500)
        try database.close()
    }

    @Test func anyOverwrittenPageIsReportedAndNeverTraps() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed of anyOverwrittenPageIsReportedAndNeverTraps: \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let path = try folder.makeClosedStore(rows: 500)
        let whole = try bytes(path)
        for page in 1..<(whole.count / 4_096) {
            var damaged = whole
            for offset in 0..<4_096 { damaged[page * 4_096 + offset] = UInt8.random(in: 0...255, using: &random) }
            try write(damaged, to: path)
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            for quick in [true, false] {
                let isReported: Bool
                do {
                    isReported = try !database.integrityCheck(quick: quick).isEmpty
                } catch let error as HabitStoreError {
                    isReported = error.code == .corrupt
                }
                #expect(isReported, "page \(page)")
            }
            try database.close()
        }
    }

    @Test func aStoreThatValidationRefusesIsLeftAsItWas() throws {
        struct Foreign: Error {}
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(path: folder.file(), mode: .create)
        try connection.exec("CREATE TABLE other (x)")
        connection.close()
        let before = try bytes(folder.file())
        #expect(throws: Foreign.self) {
            _ = try SQLiteDatabase(path: folder.file(), mode: .readWrite) { _ in throw Foreign() }
        }
        #expect(try bytes(folder.file()) == before)
        #expect(try folder.names() == ["store.sqlite"])
        // Once accepted, a file without a log is read without changes, and gets a log when it is opened for writing.
        let reading = try SQLiteDatabase(path: folder.file(), mode: .readOnly)
        #expect(try reading.withRead { try $0.texts("PRAGMA journal_mode") } == ["delete"])
        try reading.close()
        #expect(try bytes(folder.file()) == before)
        let writing = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        #expect(try writing.withRead { try $0.texts("PRAGMA journal_mode") } == ["wal"])
        try writing.close()
    }

    @Test func oneFileIsOpenOnceWhateverItsName() throws {
        let folder = try TemporaryFolder()
        let first = try folder.makeStore()
        #expect(symlink(folder.file(), folder.file("symbolic")) == 0)
        #expect(link(folder.file(), folder.file("hard")) == 0)
        for name in ["symbolic", "hard", "./store.sqlite"] {
            let second = try SQLiteDatabase(path: folder.file(name), mode: .readWrite)
            #expect(second.path == first.path)
            try first.withWrite { _ in
                // A second writer connection would wait here instead, and then be busy.
                try expectSQLiteWrapperError(.unsupported) { try second.withWrite { _ in } }
            }
            try second.insert(rows: 1)
            try second.close()
            try expectSQLiteWrapperError(.closed) { _ = try second.rowCount() }
        }
        #expect(try first.rowCount() == 3)
        try first.close()
        #expect(try folder.names().filter { $0.hasSuffix("-lock") } == ["store.sqlite-lock"])
        // From here on it is unknown which name the log belongs to.
        let linked = try SQLiteDatabase(path: folder.file("hard"), mode: .readWrite)
        try expectSQLiteWrapperError(.unsupported) { try linked.insert(rows: 1) }
        #expect(try linked.rowCount() == 3)
        try linked.close()
        let reading = try SQLiteDatabase(path: folder.file("hard"), mode: .readOnly)
        #expect(try reading.rowCount() == 3)
        try reading.close()
    }

    @Test func theLogIsEmptiedAtTheLastClose() throws {
        let folder = try TemporaryFolder()
        let first = try folder.makeStore()
        let second = try SQLiteDatabase(path: folder.file(), mode: .readWrite)
        try first.insert(rows: 50)
        try first.close()
        #expect(try second.fileSizes.logBytes > 0)
        #expect(try second.walPages > 1)
        let mainBytes = try second.fileSizes.mainBytes
        try second.close()
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") == 0)
        #expect(try SQLiteFiles.sizeBytes(of: folder.file()) > mainBytes)
        let again = try SQLiteDatabase(path: folder.file(), mode: .readOnly)
        #expect(try again.rowCount() == 50)
        try again.close()
    }

    @Test func releasingAStoreClosesItToo() throws {
        let folder = try TemporaryFolder()
        do {
            let database = try folder.makeStore()
            try database.insert(rows: 5)
        }
        #expect(try SQLiteFiles.sizeBytes(of: folder.file() + "-wal") == 0)
    }

    @Test func theLogStaysNearItsStatedLength() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.checkpointPages = 20
        let database = try folder.makeStore(options: options)
        for _ in 0..<300 { try database.insert(rows: 5) }
        #expect(try database.walPages < 100)
        #expect(try database.rowCount() == 1_500)
        try database.close()
    }

    @Test func aStoreThatWasMovedAwayIsNotWrittenTo() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        #expect(rename(folder.file(), folder.file("elsewhere")) == 0)
        try expectSQLiteWrapperError(.fileMoved) { try database.insert(rows: 1) }
        #expect(rename(folder.file("elsewhere"), folder.file()) == 0)
        try database.insert(rows: 1)
        try database.close()
    }

    @Test func openingAndClosingFromManyThreadsKeepsOneWriter() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.busyLimitSeconds = 60
        try folder.makeStore(options: options).close()
        let path = folder.file()
        let patient = options
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                for _ in 0..<15 {
                    let database = try SQLiteDatabase(path: path, mode: .readWrite, options: patient)
                    try database.insert(rows: 1)
                    try database.close()
                }
            } catch {
                Issue.record(error)
            }
        }
        let database = try SQLiteDatabase(path: path, mode: .readWrite)
        #expect(try database.rowCount() == 120)
        #expect(try database.integrityCheck(quick: false).isEmpty)
        try database.close()
    }

    @Test func aBackupIsWholePrivateAndNeverOverwrites() throws {
        let folder = try TemporaryFolder()
        let database = try folder.makeStore()
        try database.insert(rows: 300)
        try database.withWrite { try $0.exec("PRAGMA user_version = 7; PRAGMA application_id = 42") }
        try database.backup(to: folder.file("copy"))
        try expectSQLiteWrapperError(.unsupported) { try database.backup(to: folder.file("copy")) }
        try expectSQLiteWrapperError(.unsupported) { try database.backup(to: folder.file()) }
        try expectSQLiteWrapperError(.notFound) { try database.backup(to: folder.file("no/copy")) }
        var info = stat()
        #expect(stat(folder.file("copy"), &info) == 0 && info.st_mode & 0o777 == 0o600)
        #expect(try folder.names().filter { $0.contains("partial") }.isEmpty)
        try database.close()
        let copy = try SQLiteDatabase(path: folder.file("copy"), mode: .readOnly)
        #expect(try copy.rowCount() == 300)
        #expect(try copy.integrityCheck(quick: false).isEmpty)
        #expect(try copy.withRead { try $0.int64("PRAGMA user_version") } == 7)
        #expect(try copy.withRead { try $0.int64("PRAGMA application_id") } == 42)
        try copy.backup(to: folder.file("copy of the copy"))
        try copy.close()
    }
}
