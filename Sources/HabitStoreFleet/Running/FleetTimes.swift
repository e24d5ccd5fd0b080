import Foundation
import HabitStore
import HabitStoreRollout

/// Evaluates how long users' writes take, as their apps count it: per minute for the index, as a pace for the run, and compared with users at `off`.
final class FleetTimes {
    private let root: String
    private let plan: FleetPlan
    private let index: FleetIndex
    /// The counts at the beginning of the current period, and its time.
    private var begun: (counts: WriteTimeCounts, at: ContinuousClock.Instant)?
    /// The 99th percentile of all writes in the last period, in seconds; nil if there were too few.
    private(set) var recentSeconds: Double?
    private var test: SlowdownTest?
    /// The counts of users at the plan's stage before the test began.
    private var before = [UInt64](repeating: 0, count: WriteTimeCounts.bucketCount)

    /// The length of a period.
    static let stretchSeconds = 60.0
    /// The fewest writes for which a period is evaluated.
    private static let leastRecent: UInt64 = 100

    /// The index keys that preserve the test across restarts.
    private static let (testWord, beforeWord) = ("slowdown", "slowdownBefore")

    /// - Throws: an error if counting cannot be started, or the index cannot be read.
    init(root: String, _ plan: FleetPlan, _ index: FleetIndex) throws {
        (self.root, self.plan, self.index) = (root, plan, index)
        try WriteTimeCounts.begin(root: root)
        guard let known = try index.word(Self.testWord)?.split(separator: " "), known.count == 2,
            let bucket = Int(known[0]), (0..<WriteTimeCounts.bucketCount).contains(bucket),
            let seconds = Double(known[1])
        else { return }
        test = SlowdownTest(slowBucket: bucket, baselineSeconds: seconds)
        let counts = try index.word(Self.beforeWord)?.split(separator: " ").compactMap { UInt64($0) } ?? []
        if counts.count == before.count { before = counts }
    }

    /// Evaluates the writes since the last call.
    ///
    /// - Returns: why to halt the fleet; nil if there is no reason.
    /// - Throws: an error if the index cannot be written.
    func poll() throws -> String? {
        guard let counts = WriteTimeCounts(root: root) else { return nil }
        let now = ContinuousClock.now
        if let begun, now - begun.at >= .seconds(Self.stretchSeconds) {
            try note(counts.since(begun.counts))
            self.begun = (counts, now)
        } else if begun == nil {
            begun = (counts, now)
        }
        return try tooSlow(counts) ?? slower(counts)
    }

    private func note(_ stretch: WriteTimeCounts) throws {
        let time = Date()
        try index.add(
            Stage.allCases.compactMap { stage in
                guard let p50 = WriteTimeCounts.bucket(ofPercent: 50, stretch[stage]),
                    let p99 = WriteTimeCounts.bucket(ofPercent: 99, stretch[stage])
                else { return nil }
                return FleetWrites(
                    time: time,
                    stage: stage,
                    count: Int(clamping: stretch[stage].reduce(0, +)),
                    p50Seconds: WriteTimeCounts.seconds(ofBucket: p50),
                    p99Seconds: WriteTimeCounts.seconds(ofBucket: p99)
                )
            }
        )
        let all = Stage.allCases.reduce(into: [UInt64](repeating: 0, count: WriteTimeCounts.bucketCount)) {
            sum,
            stage in
            for (bucket, count) in stretch[stage].enumerated() { sum[bucket] += count }
        }
        let isEnough = all.reduce(0, +) >= Self.leastRecent
        recentSeconds =
            isEnough ? WriteTimeCounts.bucket(ofPercent: 99, all).map(WriteTimeCounts.seconds(ofBucket:)) : nil
    }

    private func tooSlow(_ counts: WriteTimeCounts) -> String? {
        guard let most = plan.halts.writeP99Milliseconds, let recentSeconds, recentSeconds * 1_000 >= most else {
            return nil
        }
        return
            "the 99th percentile of users' writes was \(Self.text(recentSeconds)) in the last minute, and \(most) ms halt"
    }

    private func slower(_ counts: WriteTimeCounts) throws -> String? {
        // At the stages in between, writes go to two stores and take longer by design.
        guard plan.stage == .complete, let percent = plan.halts.writeP99Percent else { return nil }
        guard let test else {
            guard let test = SlowdownTest(baseline: counts[.off], percent: percent) else { return nil }
            before = counts[plan.stage]
            self.test = test
            try index.set(Self.testWord, "\(test.slowBucket) \(test.baselineSeconds)")
            try index.set(Self.beforeWord, before.map(String.init).joined(separator: " "))
            return nil
        }
        guard zip(counts[plan.stage], before).allSatisfy({ $0 >= $1 }) else {
            // The counts' file was created again.
            before = counts[plan.stage].map { _ in 0 }
            return nil
        }
        let writes = zip(counts[plan.stage], before).map { $0 - $1 }
        guard test.isSlower(writes), let p99 = WriteTimeCounts.bucket(ofPercent: 99, writes) else { return nil }
        return "the writes of users at \(plan.stage.rawValue) are slower: their 99th percentile is "
            + "\(Self.text(WriteTimeCounts.seconds(ofBucket: p99))) in \(writes.reduce(0, +)) writes, and was "
            + "\(Self.text(test.baselineSeconds)) at off"
    }

    /// Starts the comparison again: resuming a halted fleet accepts what was slow.
    func restart() throws {
        test = nil
        try index.set(Self.testWord, nil)
    }

    static func text(_ seconds: Double) -> String { "\((seconds * 1e5).rounded() / 100) ms" }
}

/// Tests whether the writes of moved users are slower than those of users at `off`. The test may be evaluated any number of times.
///
/// The bar is the 99th percentile of the writes of users at `off`, at the upper end of its confidence interval (three standard errors of its rank),
/// plus the allowed percentage. If moved users' writes are not slower, at most one in a hundred exceeds the bar. The test bets against that: write by
/// write, it multiplies how much likelier each is if 1.5, 2, 3, 5, 10 or 20 percent exceed the bar, and takes the mean of the six products. Under "at
/// most one in a hundred", that is a supermartingale which begins at 1, and by Ville's inequality the chance that it *ever* reaches 1/α is at most α
/// (Howard et al., "Time-uniform Chernoff bounds via nonnegative supermartingales", 2020). The order of the writes does not matter, so counts are
/// enough.
///
/// Writes are not independent: a disk that stalls slows many writes of the same moment. So the test needs ``leastWrites``, and α is small.
struct SlowdownTest: Hashable {
    /// The first bucket that counts as slow.
    let slowBucket: Int
    /// The 99th percentile of the baseline's writes, in seconds.
    let baselineSeconds: Double

    /// The fewest writes that each side needs.
    static let leastWrites: UInt64 = 1_000
    /// The chance of a halt although nothing is slower.
    static let alpha = 0.001
    private static let usual = 0.01
    private static let alternatives = [0.015, 0.02, 0.03, 0.05, 0.1, 0.2]

    /// - Parameters:
    ///   - baseline: the write counts of users at `off`.
    ///   - percent: how much slower the 99th percentile may be.
    /// - Returns: nil if there are too few writes, or they are too slow for the buckets.
    init?(baseline: [UInt64], percent: Double) {
        let count = baseline.reduce(0, +)
        guard count >= Self.leastWrites else { return nil }
        let all = Double(count)
        let rank = (all * 0.99 + 3 * (all * 0.99 * 0.01).squareRoot()).rounded(.up)
        guard let bucket = WriteTimeCounts.bucket(ofRank: UInt64(rank), baseline),
            let middle = WriteTimeCounts.bucket(ofPercent: 99, baseline)
        else { return nil }
        baselineSeconds = WriteTimeCounts.seconds(ofBucket: middle)
        let bar = WriteTimeCounts.seconds(ofBucket: bucket) * (1 + percent / 100)
        // A bucket contains the writes between the previous bucket's bound and its own.
        guard
            let slow = (bucket..<WriteTimeCounts.bucketCount - 1).first(where: {
                WriteTimeCounts.seconds(ofBucket: $0) >= bar
            })
        else { return nil }
        slowBucket = slow + 1
    }

    init(slowBucket: Int, baselineSeconds: Double) {
        (self.slowBucket, self.baselineSeconds) = (slowBucket, baselineSeconds)
    }

    /// The evidence for slower writes: 1 means none, ``bar`` is enough.
    func evidence(_ writes: [UInt64]) -> Double {
        let all = Double(writes.reduce(0, +))
        let slow = Double(writes[slowBucket...].reduce(0, +))
        return Self.alternatives.reduce(0) { sum, share in
            let bet = slow * log(share / Self.usual) + (all - slow) * log((1 - share) / (1 - Self.usual))
            return sum + exp(min(bet, 600)) / Double(Self.alternatives.count)
        }
    }

    /// The evidence that a halt needs.
    static let bar = 1 / alpha

    /// Whether the writes are slower.
    func isSlower(_ writes: [UInt64]) -> Bool {
        writes.reduce(0, +) >= Self.leastWrites && evidence(writes) >= Self.bar
    }
}

/// The kernel's measure of how long processes wait for the disk (`/proc/pressure/io`, since Linux 4.20).
enum IOPressure {
    /// The percentage of the last ten seconds in which some task waited; nil if the kernel does not report it.
    static func now(_ path: String = "/proc/pressure/io") -> Double? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        guard let some = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
            let field = some.split(separator: " ").first(where: { $0.hasPrefix("avg10=") })
        else { return nil }
        return Double(field.dropFirst("avg10=".count))
    }
}
