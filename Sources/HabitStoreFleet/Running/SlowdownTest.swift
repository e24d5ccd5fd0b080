import Foundation
import HabitStoreRollout

/// Whether the writes of users who were moved are slower than those of users who were not, by a test that may be looked at as often as
/// anybody likes.
///
/// The bar is the 99th percentile of the writes of users at `off`, at the upper end of its confidence interval (three standard errors of
/// its rank), and so many percent more. If moved users' writes were no slower than that, one of a hundred would be above the bar at most.
/// The test bets against it: it multiplies, write by write, how much likelier each is where 1.5, 2, 3, 5, 10 or 20 of a hundred
/// are above, and takes the mean of the six. Under "one of a hundred at most" that is a supermartingale which begins at 1, and by
/// Ville's inequality the chance that it *ever* reaches 1/α is α (Howard et al., "Time-uniform Chernoff bounds via nonnegative
/// supermartingales", 2020). The order of the writes does not matter to it, so counts are all that it needs.
///
/// Writes are not independent: a disk that stalls makes many of one moment slow. So nothing is said before ``leastWrites``, and α is small.
struct SlowdownTest: Hashable {
    /// The bucket from which on a write counts as slow.
    let slowBucket: Int
    /// The 99th percentile of the writes that it is held against, in seconds.
    let baselineSeconds: Double

    /// How many writes each side has to have.
    static let leastWrites: UInt64 = 1_000
    /// The chance of halting although nothing is slower.
    static let alpha = 0.001
    private static let usual = 0.01
    private static let alternatives = [0.015, 0.02, 0.03, 0.05, 0.1, 0.2]

    /// - Parameters:
    ///   - baseline: the writes of users who were not moved.
    ///   - percent: how much slower the 99th percentile may be.
    /// - Returns: nil where there are too few writes to tell, or they lie at the end of what is told apart.
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
        // A bucket's writes lie between the bound of the one before and its own.
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

    /// How much speaks for slower writes: 1 for nothing, and ``bar`` for enough.
    func evidence(_ writes: [UInt64]) -> Double {
        let all = Double(writes.reduce(0, +))
        let slow = Double(writes[slowBucket...].reduce(0, +))
        return Self.alternatives.reduce(0) { sum, share in
            let bet = slow * log(share / Self.usual) + (all - slow) * log((1 - share) / (1 - Self.usual))
            return sum + exp(min(bet, 600)) / Double(Self.alternatives.count)
        }
    }

    /// What the evidence has to reach.
    static let bar = 1 / alpha

    /// Whether the writes are slower.
    func isSlower(_ writes: [UInt64]) -> Bool {
        writes.reduce(0, +) >= Self.leastWrites && evidence(writes) >= Self.bar
    }
}
