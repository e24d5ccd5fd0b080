import Foundation
import HabitStoreRollout

/// The durations of writes by all users at one stage, in the period that ended at ``time``.
public struct FleetWrites: Sendable, Hashable {
    /// The end of the period.
    public let time: Date
    /// The stage of the users who wrote.
    public let stage: Stage
    /// How many writes there were.
    public let count: Int
    /// The median duration of a write, in seconds.
    public let p50Seconds: Double
    /// The 99th percentile of the durations of writes, in seconds.
    public let p99Seconds: Double
}
