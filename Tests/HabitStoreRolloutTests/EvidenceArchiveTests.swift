import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreRollout

/// Archived lines remain part of the chain, and the gate does not need them.
struct EvidenceArchiveTests {
    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    private func fill(bytes: Int) throws {
        let events = EvidenceSample.events.prefix(20)
        while log.sizeBytes < bytes { for event in events { try log.append([event], at: Date()) } }
    }

    private func archive() throws -> EvidenceLog.Archived {
        try #require(try log.archive(anchor: .start, at: Date()))
    }

    @Test func theLogBeginsWithItsCheckpointAndAllRecordsAreStillThere() throws {
        let first = try log.append([.rearmed(by: "root")], at: Date()).head
        try fill(bytes: 200_000)
        let before = try log.summary(anchor: .start)
        let archived = try archive()
        #expect(archived.first == 1)
        #expect(log.sizeBytes < 2 * UInt64(EvidenceLog.checkpointEveryBytes))
        let chain = try log.read()
        #expect(chain.isIntact)
        #expect(chain.records.first?.sequence == archived.last + 1)
        let after = try log.summary(anchor: .start)
        #expect(after.evidence == before.evidence)
        // A checkpoint may have been due.
        #expect((before.records...before.records + 1).contains(after.records))
        // The anchor is older than the checkpoint, in the archive.
        #expect(try log.summary(anchor: first).containsAnchor)
        try log.append([.killed(trigger: "flag")], at: Date(), anchor: first)
        let found = try log.verify(anchor: first)
        #expect(found.isWhole)
        #expect(found.files == 2)
        #expect(found.records == after.records + 1)
    }

    @Test func archivesFollowEachOther() throws {
        for _ in 0..<3 {
            try fill(bytes: 200_000)
            _ = try archive()
        }
        let found = try log.verify()
        #expect(found.isWhole)
        #expect(found.files == 4)
        #expect(found.records == (try log.summary()).records)
    }

    @Test func whatIsTooShortIsNotArchived() throws {
        try fill(bytes: 10_000)
        #expect(try log.archive(anchor: .start, at: Date()) == nil)
        #expect(try log.verify().files == 1)
    }

    @Test func anArchiveThatIsMissingIsNamedAndTheGateCanStillBeAsked() throws {
        try fill(bytes: 200_000)
        let archived = try archive()
        try FileManager.default.removeItem(atPath: folder.path(archived.file))
        let found = try log.verify(anchor: .start)
        #expect(found.missingUpTo == archived.last)
        #expect(!found.isWhole)
        #expect(found.damage == nil)
        let summary = try log.summary(anchor: .start)
        #expect(summary.damage == nil)
        #expect(summary.containsAnchor)
    }

    @Test func damageInAnArchiveIsFound() throws {
        try fill(bytes: 200_000)
        let archived = try archive()
        let path = folder.path(archived.file)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var flipped = bytes
        flipped[100] ^= 1
        try flipped.write(to: URL(fileURLWithPath: path))
        #expect(try log.verify().damage?.file == archived.file)
        let cut = try #require(bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")))
        try bytes[...cut].write(to: URL(fileURLWithPath: path))
        #expect(try log.verify().damage?.reason == "it does not end with what the next file follows")
    }

    @Test func damagedEvidenceIsNotArchived() throws {
        try fill(bytes: 200_000)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log.path))
        bytes[100] ^= 1
        try bytes.write(to: URL(fileURLWithPath: log.path))
        let error = #expect(throws: HabitStoreError.self) { try log.archive(anchor: .start, at: Date()) }
        #expect(error?.code == .corrupt)
    }

    /// The process was killed after it wrote the archive and before it shortened the log.
    @Test func whoWasKilledInBetweenLeavesEverythingInBothFiles() throws {
        try fill(bytes: 200_000)
        let whole = try Data(contentsOf: URL(fileURLWithPath: log.path))
        let records = try log.read().records.count
        _ = try archive()
        try whole.write(to: URL(fileURLWithPath: log.path))
        try Data("half".utf8).write(to: URL(fileURLWithPath: log.path + ".new"))
        #expect(try log.verify().isWhole)
        try fill(bytes: 300_000)
        _ = try archive()
        let found = try log.verify()
        #expect(found.isWhole)
        #expect(found.records >= records)
    }

    @Test func appendersThatWaitWhileTheLogIsReplacedWriteToTheNewOne() async throws {
        try fill(bytes: 200_000)
        let log = log
        let before = try log.summary().records
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { for _ in 0..<50 { try log.append([.killed(trigger: "flag")], at: Date()) } }
            }
            group.addTask { for _ in 0..<5 { _ = try log.archive(anchor: .start, at: Date()) } }
            try await group.waitForAll()
        }
        let found = try log.verify()
        #expect(found.isWhole)
        #expect(found.records >= before + 150)
    }
}
