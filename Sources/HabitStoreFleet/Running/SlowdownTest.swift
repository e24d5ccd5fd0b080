import Foundation
import HabitStoreRollout

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
