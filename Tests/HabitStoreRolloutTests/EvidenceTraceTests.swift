import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreRollout

/// Reading a log from its end finds the same as reading all of it.
struct EvidenceTraceTests {
    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: log.path)) }

    private func expectSame(_ anchor: EvidenceHead?, _ name: String) throws {
        let summary = try log.summary(anchor: anchor)
        let trace = try #require(try log.trace(anchor: anchor))
        #expect((trace.stage, trace.epoch) == (summary.evidence.stage, summary.evidence.epoch), "\(name)")
        #expect(trace.containsAnchor == summary.containsAnchor, "\(name)")
        #expect(try log.contains(anchor) == summary.containsAnchor, "\(name)")
    }

    /// Random logs with all kinds of lines, some longer than a block, with and without damage.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func itIsWhatAllLinesComeTo(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let events = EvidenceSample.events.filter { event in
            switch event {
            // A checkpoint is valid only after the lines that it summarizes.
            case .checkpoint: false
            default: true
            }
        }
        let refused = EvidenceEvent.refused(to: .live, reasons: [.rollbackNotRehearsed])
        var all: [(EvidenceEvent, Date)] = []
        for number in 0..<Int.random(in: 1...60, using: &generator) {
            let time = EvidenceSample.start.addingTimeInterval(Double(number))
            all.append((events.randomElement(using: &generator) ?? refused, time))
            for _ in 0..<Int.random(in: 0...40, using: &generator) { all.append((refused, time)) }
        }
        let chain = try EvidenceSample.chain(all)
        var bytes = try EvidenceSample.bytes(all)
        let anchors = [nil, .start, chain.head, chain.records.randomElement(using: &generator)?.head]
        try write(bytes)
        for anchor in anchors { try expectSame(anchor, "seed \(seed)") }
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
        try write(bytes)
        for anchor in anchors { try expectSame(anchor, "seed \(seed), damaged") }
    }

    @Test func checkpointsAndArchivesTellItToo() throws {
        var anchors: [EvidenceHead] = []
        while log.sizeBytes < 300_000 {
            for (event, time) in GateCase(.shadow).events {
                anchors.append(try log.append([event], at: time).head)
            }
        }
        let elsewhere = EvidenceHead(sequence: 3, hash: String(repeating: "a", count: 64))
        let sample = [nil, anchors[0], anchors[anchors.count / 2], anchors.last, elsewhere]
        for anchor in sample { try expectSame(anchor, "with checkpoints") }
        #expect(try log.archive(anchor: nil, at: GateCase.now) != nil)
        for anchor in sample { try expectSame(anchor, "archived") }
        _ = try log.reset(because: "a test", by: "a test", behind: anchors.last?.sequence ?? 0, at: GateCase.now)
        for anchor in sample { try expectSame(anchor, "reset") }
    }

    @Test func thereIsNothingToFindWithoutALog() throws {
        let trace = try log.trace(anchor: nil)
        #expect(trace?.epoch == nil)
        #expect(try log.contains(nil))
        #expect(try log.contains(.start))
        #expect(try !log.contains(EvidenceHead(sequence: 1, hash: "")))
    }
}
