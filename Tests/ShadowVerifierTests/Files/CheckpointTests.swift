import Foundation
import HabitStore
import Testing

@testable import ShadowVerifier

/// An interrupted verification is resumed, and reaches the same verdict as an uninterrupted one.
struct CheckpointTests {
    private struct Interruption: Error {}

    /// Verifies, and interrupts after `calls` progress calls in a level.
    private func interrupt(_ pair: FilePair, in level: String, after calls: Int) throws {
        var left = calls
        #expect(throws: Interruption.self) {
            _ = try pair.verify {
                configure(&$0, pair)
            } progress: { progress in
                guard progress.level == level else { return }
                left -= 1
                if left < 0 { throw Interruption() }
            }
        }
        #expect(FileManager.default.fileExists(atPath: pair.checkpoint))
    }

    private func configure(_ options: inout VerificationOptions, _ pair: FilePair) {
        options.checkpointPath = pair.checkpoint
        options.checkpointRecords = 1_000
    }

    private func resume(_ pair: FilePair) throws -> VerificationReport { try pair.verify { configure(&$0, pair) } }

    private func requireEqual(_ resumed: VerificationReport, _ whole: VerificationReport) {
        #expect(resumed.verdict == whole.verdict)
        #expect(resumed.differences == whole.differences)
        #expect(resumed.differenceCount == whole.differenceCount)
        #expect(resumed.anomalies == whole.anomalies)
        #expect(resumed.notCompared == whole.notCompared)
        #expect(resumed.levels.map(\.name) == whole.levels.map(\.name))
        #expect(resumed.levels.map(\.compared) == whole.levels.map(\.compared))
        #expect(resumed.levels.map(\.differences) == whole.levels.map(\.differences))
    }

    @Test(arguments: [("contents", 1), ("contents", 3), ("kept digests", 0), ("relationships", 0), ("history", 0)])
    func whereverItIsInterruptedTheVerdictIsThatOfAWholeRun(_ level: String, _ calls: Int) throws {
        let pair = try FilePair(drafts: 5_000)
        // Differences on both sides of any checkpoint, and a change that only a kept digest of its own store reveals.
        let drafts = try pair.drafts()
        for place in [3, 2_500, 4_990] {
            var draft = drafts[place]
            draft.content = "changed"
            try pair.put(draft)
        }
        try pair.runSQL("UPDATE Draft SET content = 'x' WHERE id = x'\(drafts[1_700].id.hexadecimal)'")
        try pair.openForReading()
        let whole = try pair.verify()
        #expect(whole.levels.first { $0.name == "contents" }?.differences == 4)
        try interrupt(pair, in: level, after: calls)
        let resumed = try resume(pair)
        #expect(resumed.notes.contains { $0.contains("taken up") })
        requireEqual(resumed, whole)
        #expect(!FileManager.default.fileExists(atPath: pair.checkpoint))
    }

    @Test func aRecordThatIsChangedBehindTheCheckpointIsFound() throws {
        let pair = try FilePair(drafts: 5_000)
        let first = try #require(try pair.drafts().first)
        try pair.openForReading()
        try interrupt(pair, in: "relationships", after: 0)
        try pair.runSQL("UPDATE Draft SET content = 'x' WHERE id = x'\(first.id.hexadecimal)'")
        let resumed = try resume(pair)
        #expect(resumed.notes.contains { $0.contains("written to") })
        #expect(resumed.verdict == .mismatch)
        #expect(resumed.differences.first?.id == first.id)
    }

    @Test func aWriteBehindTheCheckpointIsComparedToo() throws {
        let pair = try FilePair(drafts: 2_000)
        try interrupt(pair, in: "history", after: 0)
        var draft = try #require(try pair.drafts().first)
        draft.content = "later"
        try pair.put(draft)
        #expect(try resume(pair).differences.map(\.id) == [draft.id])
    }

    @Test func aCheckpointOfOtherStoresOrOptionsIsNotTakenUp() throws {
        let (pair, other) = (try FilePair(drafts: 2_000), try FilePair(drafts: 10))
        try interrupt(pair, in: "history", after: 0)
        try FileManager.default.copyItem(atPath: pair.checkpoint, toPath: other.checkpoint)
        #expect(try resume(other).notes.contains { $0.contains("another comparison") })
        let report = try pair.verify {
            configure(&$0, pair)
            $0.showsValues = true
        }
        #expect(report.notes.contains { $0.contains("another comparison") })
    }

    @Test func aDamagedCheckpointIsNotTakenUp() throws {
        let pair = try FilePair(drafts: 10)
        let heading = "HabitStore verification checkpoint\n"
        for text in ["", heading, heading + "{", heading + "\0\0\0"] {
            try text.write(toFile: pair.checkpoint, atomically: true, encoding: .utf8)
            let report = try resume(pair)
            #expect(report.verdict == .match)
            #expect(report.notes.contains { $0.contains("damaged") })
        }
    }

    @Test func aFileThatIsNoCheckpointIsLeftAlone() throws {
        let pair = try FilePair(drafts: 10)
        let file = pair.folder.appendingPathComponent("a.sqlite")
        let before = try Data(contentsOf: file)
        let error = #expect(throws: HabitStoreError.self) {
            try pair.verify { $0.checkpointPath = file.path }
        }
        #expect(error?.message.contains("not a checkpoint") == true)
        #expect(try Data(contentsOf: file) == before)
    }

    @Test func nobodyElseCanReadACheckpoint() throws {
        let pair = try FilePair(drafts: 10)
        try interrupt(pair, in: "history", after: 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: pair.checkpoint)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func aParanoidVerificationBelievesNoCheckpoint() throws {
        let pair = try FilePair(drafts: 2_000)
        try interrupt(pair, in: "history", after: 0)
        let report = try pair.verify(.paranoid) { configure(&$0, pair) }
        #expect(report.notes.isEmpty)
        #expect(report.levels.first { $0.name == "own reading" }?.compared == 2 * 4_001)
    }
}
