import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

/// SQLite gives no sign of missing rows, so the import must report what a log contains and why it is not read.
@Suite struct SourceFilesTests {
    private func inLog() throws -> CoreDataFixture {
        let fixture = try CoreDataFixture(log: true)
        try fixture.writeLibrary()
        try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return fixture
    }

    private func tags(_ file: CoreDataFile) throws -> Int { try file.count(of: try #require(file.model.entity("Tag"))) }

    private func kinds(_ file: CoreDataFile) -> [String] { file.oddities.map(\.kind) }

    /// Every file next to a path, with its bytes.
    private func contents(beside path: String) throws -> [String: Data] {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        var result: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            result[name] = try Data(contentsOf: folder.appendingPathComponent(name))
        }
        return result
    }

    @Test func rowsThatAreOnlyInTheLogAreReadAndNoByteChanges() throws {
        let fixture = try inLog()
        try fixture.sql("INSERT INTO ZTAG VALUES (3, 5, 1, 'new')")
        let copy = try fixture.copy()
        let before = try contents(beside: copy)
        let file = try CoreDataFile(path: copy)
        #expect(try tags(file) == 3)
        #expect(kinds(file) == ["logRead"])
        file.close()
        #expect(try contents(beside: copy) == before)
    }

    @Test func aFileWithoutItsLogSaysThatItMayBeAnOlderOne() throws {
        let fixture = try inLog()
        try fixture.sql("INSERT INTO ZTAG VALUES (3, 5, 1, 'new')")
        let file = try CoreDataFile(path: try fixture.copy([""]))
        #expect(try tags(file) == 2)
        #expect(kinds(file) == ["logMissing"])
    }

    @Test func anEmptyLogAndAForeignOneAreNamed() throws {
        let fixture = try inLog()
        let empty = try fixture.copy([""])
        try Data().write(to: URL(fileURLWithPath: empty + "-wal"))
        #expect(kinds(try CoreDataFile(path: empty)) == ["logEmpty"])
        let short = try fixture.copy([""])
        try Data(repeating: 7, count: 9).write(to: URL(fileURLWithPath: short + "-wal"))
        #expect(kinds(try CoreDataFile(path: short)) == ["logTruncated"])
        let foreign = try fixture.copy([""])
        try Data(repeating: 7, count: 9_000).write(to: URL(fileURLWithPath: foreign + "-wal"))
        #expect(kinds(try CoreDataFile(path: foreign)) == ["logInvalid"])
    }

    @Test func aLogWhoseTransactionWasNeverFinishedIsCountedAndNotRead() throws {
        let fixture = try inLog()
        try fixture.sql("INSERT INTO ZTAG VALUES (3, 5, 1, 'new')")
        let copy = try fixture.copy()
        let log = URL(fileURLWithPath: copy + "-wal")
        var bytes = [UInt8](try Data(contentsOf: log))
        // The last frame marks the end of a transaction; without the mark, and with valid checksums, nothing is committed.
        bytes.withUnsafeMutableBytes { raw in FixtureLog(raw).unfinishAll() }
        try Data(bytes).write(to: log)
        let file = try CoreDataFile(path: copy)
        #expect(kinds(file) == ["logNeverCommitted"])
        #expect(try tags(file) == 2)
    }

    @Test func framesBehindADamagedOneAreCounted() throws {
        let fixture = try inLog()
        for number in 3...6 { try fixture.sql("INSERT INTO ZTAG VALUES (\(number), 5, 1, 'new')") }
        let copy = try fixture.copy()
        let log = URL(fileURLWithPath: copy + "-wal")
        var bytes = try Data(contentsOf: log)
        bytes[32 + 2 * (24 + 4_096) + 100] ^= 1
        try bytes.write(to: log)
        let file = try CoreDataFile(path: copy)
        #expect(try tags(file) == 4)
        #expect(Set(kinds(file)) == ["logDamaged", "logRead"])
        #expect(file.oddities.first { $0.kind == "logDamaged" }?.count == 2)
    }

    @Test func aLogOfAnEarlierMomentIsLeftOut() throws {
        let fixture = try inLog()
        try fixture.sql("CREATE TABLE ZLATER (Z_PK INTEGER)")
        let old = try fixture.copy()
        for number in 0..<3 { try fixture.sql("CREATE TABLE ZEVENLATER\(number) (Z_PK INTEGER)") }
        try fixture.sql("INSERT INTO ZTAG VALUES (3, 5, 1, 'new'); PRAGMA wal_checkpoint(TRUNCATE)")
        let mixed = try fixture.copy([""])
        try FileManager.default.copyItem(atPath: old + "-wal", toPath: mixed + "-wal")
        let file = try CoreDataFile(path: mixed)
        #expect(kinds(file) == ["logOlder"])
        #expect(try tags(file) == 3)
    }

    @Test func aLogOfFewerTransactionsThanTheFileIsLeftOut() throws {
        let fixture = try inLog()
        try fixture.sql("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_ENT = 5; INSERT INTO ZTAG VALUES (3, 5, 1, 'new')")
        let old = try fixture.copy()
        try fixture.sql("UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_ENT = 5; INSERT INTO ZTAG VALUES (4, 5, 1, 'newer')")
        try fixture.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        let mixed = try fixture.copy([""])
        try FileManager.default.copyItem(atPath: old + "-wal", toPath: mixed + "-wal")
        let file = try CoreDataFile(path: mixed)
        #expect(kinds(file) == ["logOlder"])
        #expect(try tags(file) == 4)
    }

    @Test func aLogThatWasBroughtInAlreadyIsSaidToBeContained() throws {
        let fixture = try inLog()
        try fixture.sql("INSERT INTO ZTAG VALUES (3, 5, 1, 'new'); PRAGMA wal_checkpoint(PASSIVE)")
        let file = try CoreDataFile(path: try fixture.copy())
        #expect(kinds(file) == ["logContained"])
        #expect(try tags(file) == 3)
    }

    @Test func aJournalOfATransactionThatWasCutOffIsPlayedBackInTheCopy() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("PRAGMA cache_size = 1; BEGIN; UPDATE ZTAG SET ZNAME = hex(randomblob(20000))")
        try fixture.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO ZTAG SELECT 10 + i, 5, 1, hex(randomblob(4000)) FROM n
            """
        )
        let copy = try fixture.copy(["", "-journal"])
        try #require(FileManager.default.fileExists(atPath: copy + "-journal"))
        let before = try contents(beside: copy)
        let file = try CoreDataFile(path: copy)
        #expect(kinds(file).contains("journalPlayedBack"))
        #expect(try tags(file) == 2)
        #expect(try contents(beside: copy) == before)
    }

    @Test func theCopyOfAProcessThatWasKilledIsRemovedByTheNext() throws {
        let process = try ChildProcess("true")
        _ = try process.end()
        let name = "habitstore-source-\(process.id)-\(UUID().uuidString)"
        let abandoned = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: abandoned, withIntermediateDirectories: false)
        let fixture = try CoreDataFixture.library(history: false)
        let file = try CoreDataFile(path: fixture.path)
        #expect(!FileManager.default.fileExists(atPath: abandoned.path))
        #expect(try tags(file) == 2)
    }

    @Test func aFileThatIsCutShortIsRefused() throws {
        let fixture = try CoreDataFixture.library(history: false)
        fixture.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        for length in [0, 50, 100, 4_096, whole.count / 2, whole.count - 1] {
            try whole.prefix(length).write(to: URL(fileURLWithPath: fixture.path))
            let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path) }
            #expect(
                error.map { [.notAStore, .corrupt].contains($0.code) } == true,
                "\(length): \(String(describing: error))"
            )
        }
    }

    @Test func anotherKindOfDatabaseIsRefusedByWhatItLacks() throws {
        let fixture = try CoreDataFixture()
        let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path) }
        #expect(error?.message == "the Core Data file has no metadata: Z_METADATA is empty")
        try fixture.sql("DROP TABLE Z_METADATA")
        let other = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path) }
        #expect(other?.code == .notAStore)
        #expect(other?.message.contains("is not a Core Data file") == true)
        let none = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path + "x") }
        #expect(none?.code == .notFound)
        let folder = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.folder.path) }
        #expect(folder?.code == .notAStore)
    }

    @Test func severalRowsOfMetadataAndANewerFrameworkAreNamed() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("DELETE FROM Z_METADATA")
        try fixture.metadata(framework: 9_999)
        try fixture.metadata(framework: 1_000, id: "none", version: 2)
        let file = try CoreDataFile(path: fixture.path)
        #expect(kinds(file) == ["metadataRows", "frameworkNewer"])
        #expect(file.metadata.storeID == CoreDataFixture.storeID)
        #expect(file.metadata.appKeys == ["org.example.key"])
    }

    @Test func aFlippedByteNeverEndsTheProcess() throws {
        let fixture = try CoreDataFixture.library()
        fixture.close()
        let url = URL(fileURLWithPath: fixture.path)
        let whole = try Data(contentsOf: url)
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        var refused = 0
        for _ in 0..<150 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: .min ... .max,
                    using: &generator
                )
            }
            try bytes.write(to: url)
            do {
                _ = try CoreDataInspection(CoreDataFile(path: fixture.path))
            } catch let error as HabitStoreError {
                #expect(!error.message.isEmpty)
                refused += 1
            }
        }
        #expect(refused < 150, "seed \(seed): everything was refused, so nothing was read")
    }
}
