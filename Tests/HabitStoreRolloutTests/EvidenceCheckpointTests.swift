import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreRollout

/// A checkpoint and the lines after it give the same result as all lines together.
struct EvidenceCheckpointTests {
    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    private func size() -> Int { Int(log.sizeBytes) }

    private func checkpoints() throws -> Int {
        try log.read().records.count { if case .checkpoint = $0.event { true } else { false } }
    }

    /// Records the events one at a time, as separate calls do.
    private func fill(bytes: Int, anchor: EvidenceHead? = nil) throws {
        while size() < bytes {
            for (event, time) in GateCase(.shadow).events { try log.append([event], at: time, anchor: anchor) }
        }
    }

    private func reasons(_ summary: EvidenceSummary) -> [GateReason] {
        let facts = GateInput(evidence: summary, lag: 0, isBackfilled: true, isKilled: false)
        return Gate().decide(from: .shadow, to: .live, facts: facts, now: GateCase.now).reasons
    }

    @Test func aLongLogHasACheckpointEachSixtyFourKilobytesAndEachIsALineOfItsChain() throws {
        try fill(bytes: 400_000)
        let chain = try log.read()
        #expect(chain.isIntact)
        #expect((3...6).contains(try checkpoints()))
        let summary = try log.summary(anchor: .start)
        #expect(size() - summary.start < 2 * EvidenceLog.checkpointEveryBytes)
        #expect(summary.start > 0)
        #expect(summary.head == chain.head)
        #expect(summary.records == chain.records.count)
    }

    /// A hundred random logs: the answer is the same with and without the lines before the last checkpoint.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func aCheckpointSaysWhatTheLinesBeforeItCameTo(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let events = EvidenceSample.events.filter { if case .checkpoint = $0 { false } else { true } }
        var all: [(EvidenceEvent, Date)] = []
        for number in 0..<Int.random(in: 1...80, using: &generator) {
            let event = events.randomElement(using: &generator) ?? .killed(trigger: "")
            all.append((event, EvidenceSample.start.addingTimeInterval(Double(number) * 60.123)))
        }
        let whole = EvidenceSummary(try EvidenceSample.chain(all))
        let cut = Int.random(in: 0...all.count, using: &generator)
        let before = EvidenceSummary(try EvidenceSample.chain(Array(all[..<cut])))
        let state = try #require(before.checkpoint)
        let written = try JSONEncoder().encode(EvidenceEvent.checkpoint(state))
        let read = try JSONDecoder().decode(EvidenceEvent.self, from: written)
        let tail = [(read, EvidenceSample.start)] + all[cut...]
        let after = EvidenceSummary(try EvidenceSample.chain(tail))
        #expect(after.evidence == whole.evidence, "seed \(seed)")
    }

    /// An earlier version's log, of 200 KB or any other size, has no checkpoint; it is read in blocks, and gets its first one.
    @Test func aLogWithoutCheckpointsIsReadAsAWholeOnce() throws {
        var events: [(EvidenceEvent, Date)] = []
        for _ in 0..<300 { events += GateCase(.shadow).events }
        try Data(EvidenceSample.bytes(events)).write(to: URL(fileURLWithPath: log.path))
        let whole = try log.summary(anchor: .start)
        #expect(whole.start == 0)
        #expect(whole.records == 1_800)
        #expect(reasons(whole).isEmpty)
        #expect(try log.checkpoint(after: whole, at: GateCase.now) != nil)
        #expect(try log.checkpoint(after: whole, at: GateCase.now) == nil)
        let short = try log.summary(anchor: .start)
        #expect(short.start == whole.length)
        #expect(short.records == 1_801)
        #expect(short.evidence == whole.evidence)
        #expect(reasons(short).isEmpty)
        #expect(try log.read().isIntact)
    }

    /// Of the hundreds of thousands of refusals in an old log, only the positions are read.
    @Test func aRefusalIsPassedOverByItsPlaceAndTheLastOneIsKnown() throws {
        let refusals = [Stage.live, .shadow].map { EvidenceEvent.refused(to: $0, reasons: EvidenceSample.reasons) }
        let bytes = try EvidenceSample.bytes(refusals)
        try bytes.withUnsafeBytes { bytes in
            let length = try #require(EvidenceLine.length(bytes))
            let line = UnsafeRawBufferPointer(rebasing: bytes[..<length])
            #expect(EvidenceLine.skimRefusal(line)?.head == (try EvidenceLine.parse(line).head))
            #expect(EvidenceLine.skimRefusal(line)?.previous == EvidenceHead.start.hash)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: log.path))
        let summary = try log.summary(anchor: .start)
        #expect(summary.evidence == EvidenceSummary(EvidenceChain(bytes)).evidence)
        #expect(summary.evidence.refusal?.to == .shadow)
        var flipped = Data(bytes)
        flipped[300] ^= 1
        try flipped.write(to: URL(fileURLWithPath: log.path))
        #expect(try log.summary(anchor: .start).damage?.line == 1)
    }

    @Test func aDamagedLineBehindTheCheckpointClosesTheGateAndGetsNoCheckpoint() throws {
        try fill(bytes: 150_000)
        let summary = try log.summary(anchor: .start)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log.path))
        // Flips one bit in the last line.
        bytes[bytes.count - 10] ^= 1
        try bytes.write(to: URL(fileURLWithPath: log.path))
        let damaged = try log.summary(anchor: .start)
        #expect(damaged.damage?.line == (try log.read().damage?.line))
        #expect(!reasons(damaged).isEmpty)
        let count = try checkpoints()
        try fill(bytes: 400_000)
        #expect(try checkpoints() == count)
        #expect(try log.summary(anchor: .start).damage == damaged.damage)
        #expect(summary.damage == nil)
    }

    @Test func aDamagedLineBeforeTheCheckpointIsFoundByVerifying() throws {
        try fill(bytes: 150_000)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log.path))
        bytes[90] ^= 1
        try bytes.write(to: URL(fileURLWithPath: log.path))
        #expect(try log.summary(anchor: .start).damage == nil)
        #expect(try log.verify().damage?.line == 1)
    }

    /// A damaged checkpoint is not used: reading starts at the one before and finds the damage after it.
    @Test func aDamagedCheckpointIsNotBelieved() throws {
        try fill(bytes: 250_000)
        let last = try log.summary(anchor: .start).start
        var bytes = try Data(contentsOf: URL(fileURLWithPath: log.path))
        bytes[last + 400] ^= 1
        try bytes.write(to: URL(fileURLWithPath: log.path))
        let summary = try log.summary(anchor: .start)
        #expect(summary.start < last)
        #expect(summary.damage != nil)
    }

    @Test func theAnchorIsFoundWhereverItLies() throws {
        let first = try log.append([.rearmed(by: "root")], at: GateCase.now).head
        try fill(bytes: 150_000)
        let middle = try log.head()
        try fill(bytes: 300_000, anchor: middle)
        let end = try log.head()
        for anchor in [first, middle, end, .start] { #expect(try log.summary(anchor: anchor).containsAnchor) }
        let another = EvidenceHead(sequence: middle.sequence, hash: end.hash)
        #expect(try !log.summary(anchor: another).containsAnchor)
        #expect(try log.summary(anchor: middle).start > 0)
    }

    /// A child process that another test spawns holds the file lock until its `exec`.
    private func appendWithoutWaiting() throws {
        for _ in 0..<1_000 {
            do {
                try log.append([.killed(trigger: "flag")], at: GateCase.now, waitSeconds: 0)
                return
            } catch let error as HabitStoreError where error.code == .busy {
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
        Issue.record("the evidence stays locked, but no process holds it")
    }

    @Test func whoDoesNotWaitIsRefusedAtOnceAndWritesNoCheckpoint() throws {
        try fill(bytes: 60_000)
        let count = try checkpoints()
        for _ in 0..<500 { try appendWithoutWaiting() }
        #expect(size() > EvidenceLog.checkpointEveryBytes + 32_768)
        #expect(try checkpoints() == count)
        let holder = try EvidenceFile(log.path, .append)
        let error = #expect(throws: HabitStoreError.self) {
            try log.append([.killed(trigger: "flag")], at: GateCase.now, waitSeconds: 0)
        }
        #expect(error?.code == .busy)
        #expect(try holder.size() == size())
    }

    @Test func aLongLineOfReadsStaysBoundedAndCountsNoneTwice() {
        var reads = CleanReads()
        for hour in 0..<10_000 { reads.add(3, at: EvidenceSample.start.addingTimeInterval(Double(hour) * 3_600)) }
        #expect(reads.groups.count == CleanReads.maximumGroups)
        #expect(reads.all == 30_000)
        let now = EvidenceSample.start.addingTimeInterval(9_999 * 3_600)
        let fresh = reads.count { now.timeIntervalSince($0) <= 7 * 86_400 }
        // 169 hours of reads; a group that is partly too old does not count.
        #expect((350...507).contains(fresh))
    }
}
