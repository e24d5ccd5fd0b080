import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreFleet
@testable import HabitStoreRollout

/// A fleet stops if writes really became slower, and not if it only looks so.
struct SlowdownTests {
    /// Counts of writes whose times come from one distribution: 2 ms, with a long tail, times `factor`.
    private func writes(_ count: Int, factor: Double, _ random: inout SeededGenerator) -> [UInt64] {
        var counts = [UInt64](repeating: 0, count: WriteTimeCounts.bucketCount)
        for _ in 0..<count {
            let tail = -log(Double.random(in: 1e-9..<1, using: &random))
            counts[WriteTimeCounts.bucket(factor * (0.002 + 0.003 * tail))] += 1
        }
        return counts
    }

    private func sum(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] { zip(a, b).map(+) }

    /// 300 fleets without a slowdown, tested a hundred times each: a test designed for one look would stop many of them.
    @Test func whoLooksAgainAndAgainIsNotFooled() throws {
        let seed: UInt64 = 13
        var random = SeededGenerator(seed: seed)
        var stopped = 0
        for _ in 0..<300 {
            let test = try #require(SlowdownTest(baseline: writes(2_000, factor: 1, &random), percent: 25))
            var moved = [UInt64](repeating: 0, count: WriteTimeCounts.bucketCount)
            for _ in 0..<100 where stopped < 300 {
                moved = sum(moved, writes(60, factor: 1, &random))
                guard test.isSlower(moved) else { continue }
                stopped += 1
                break
            }
        }
        #expect(stopped <= 2, "seed \(seed)")
    }

    @Test func slowerWritesAreFound() throws {
        let seed: UInt64 = 14
        var random = SeededGenerator(seed: seed)
        for factor in [1.8, 2.5, 10] {
            let test = try #require(SlowdownTest(baseline: writes(5_000, factor: 1, &random), percent: 25))
            var (moved, needed) = ([UInt64](repeating: 0, count: WriteTimeCounts.bucketCount), 0)
            while !test.isSlower(moved), needed < 20_000 {
                moved = sum(moved, writes(100, factor: factor, &random))
                needed += 100
            }
            #expect(needed <= (factor < 2 ? 5_000 : 1_100), "seed \(seed), \(factor) times as slow: \(needed) writes")
        }
    }

    @Test func fewWritesSayNothing() throws {
        var random = SeededGenerator(seed: 15)
        #expect(SlowdownTest(baseline: writes(999, factor: 1, &random), percent: 25) == nil)
        let test = try #require(SlowdownTest(baseline: writes(1_000, factor: 1, &random), percent: 25))
        #expect(!test.isSlower(writes(999, factor: 100, &random)))
        #expect(test.isSlower(writes(1_000, factor: 100, &random)))
    }

    /// If writes take longer than the last bucket's limit, there is no threshold above them.
    @Test func aBaselineAtTheEndOfTheScaleIsNone() {
        var counts = [UInt64](repeating: 0, count: WriteTimeCounts.bucketCount)
        counts[WriteTimeCounts.bucketCount - 1] = 5_000
        #expect(SlowdownTest(baseline: counts, percent: 25) == nil)
    }
}

/// All processes count writes in one shared page.
struct WriteTimesTests {
    @Test func bucketsHoldTheTimesThatTheySay() {
        for bucket in 1..<WriteTimeCounts.bucketCount - 1 {
            let (below, above) = (
                WriteTimeCounts.seconds(ofBucket: bucket - 1) * 1.000_001, WriteTimeCounts.seconds(ofBucket: bucket)
            )
            #expect(WriteTimeCounts.bucket(below) == bucket)
            #expect(WriteTimeCounts.bucket(above * 0.999_999) == bucket)
        }
        #expect(WriteTimeCounts.bucket(0) == 0 && WriteTimeCounts.bucket(-1) == 0)
        #expect(WriteTimeCounts.bucket(1e9) == WriteTimeCounts.bucketCount - 1)
    }

    @Test func writesAreCountedByTheStageOfTheirUser() throws {
        let test = try TestFleet(2)
        #expect(WriteTimeCounts(root: test.root) == nil)
        try WriteTimeCounts.begin(root: test.root)
        let stores = try test.stores()
        let store = try stores.store(for: "user-0")
        defer { store.close() }
        for _ in 0..<5 { try store.save(Habit(name: "Walk")) }
        try store.advance(to: .dualwrite)
        for _ in 0..<3 { try store.save(Habit(name: "Walk")) }
        let counts = try #require(WriteTimeCounts(root: test.root))
        #expect(counts[.off].reduce(0, +) == 5 && counts[.dualwrite].reduce(0, +) == 3)
        #expect(counts[.complete].reduce(0, +) == 0)
        // Another process adds to the counts.
        try WriteTimeCounts.begin(root: test.root)
        let other = try test.stores().store(for: "user-1")
        defer { other.close() }
        try other.save(Habit(name: "Walk"))
        #expect(WriteTimeCounts(root: test.root)?.since(counts)[.off].reduce(0, +) == 1)
    }

    /// Whatever is in the file's place, no process is kept from writing.
    @Test func aFileThatIsNoneCountsNothingAndStopsNobody() throws {
        let test = try TestFleet(1)
        let path = test.root + "/write-times"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect { try WriteTimeCounts.begin(root: test.root) } throws: { "\($0)".contains("write times") }
        let store = try test.stores().store(for: "user-0")
        defer { store.close() }
        try store.save(Habit(name: "Walk"))
        try FileManager.default.removeItem(atPath: path)
        try Data(repeating: 7, count: 4_096).write(to: URL(fileURLWithPath: path))
        try test.stores().store(for: "user-0").save(Habit(name: "Walk"))
        #expect(WriteTimeCounts(root: test.root) == nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(repeating: 7, count: 4_096))
    }

    /// The fleet halts, and says so, if apps count slow writes of users at `complete`.
    @Test func slowWritesHaltTheFleet() throws {
        let test = try TestFleet(2)
        _ = try test.draw(
            #"{"waves": [{"users": 1, "soakSeconds": 60}, {"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        )
        try WriteTimeCounts.begin(root: test.root)
        try count(1_000, of: .off, milliseconds: 2, test.root)
        let end = try test.run(isTold: { line in
            guard line.contains("is watched until") else { return }
            try? count(1_100, of: .complete, milliseconds: 20, test.root)
        }).end
        guard case .halted(_, let reason, nil) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(reason.contains("slower") && reason.contains("at off"))
        #expect(try test.stages().values.count { $0 == .complete } == 1)
    }

    private func count(_ writes: Int, of stage: Stage, milliseconds: Int, _ root: String) throws {
        let times = WriteTimes(root: root)
        for _ in 0..<writes { times.count(stage, since: .now - .milliseconds(milliseconds)) }
    }
}
