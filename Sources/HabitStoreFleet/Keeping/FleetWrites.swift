import Foundation
import HabitStoreRollout

/// How long writes took, of all users at one stage, in the stretch of time that ended at ``time``.
public struct FleetWrites: Sendable, Hashable {
    /// The end of the stretch.
    public let time: Date
    /// Where the users were who wrote.
    public let stage: Stage
    /// How many writes there were.
    public let count: Int
    /// Half of the writes took no longer, in seconds.
    public let p50Seconds: Double
    /// 99 of 100 writes took no longer, in seconds.
    public let p99Seconds: Double
}
