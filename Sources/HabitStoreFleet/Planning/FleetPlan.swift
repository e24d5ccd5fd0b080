import HabitStore
import HabitStoreRollout

/// How users are moved in waves: who together, how fast, how long each wave is watched, and what stops everything.
///
/// In JSON or YAML (`schemas/fleet-plan.schema.json`) every field may be left out.
public struct FleetPlan: Sendable, Hashable {
    /// Users who are moved and watched together.
    public struct Wave: Sendable, Hashable {
        /// How many users have been moved when the wave is done.
        public enum Extent: Sendable, Hashable {
            /// So many.
            case users(Int)
            /// So many of a hundred, of those who are there when the waves are drawn.
            case percent(Double)
        }

        /// What people call it.
        public let name: String
        /// How many users there are in it and in the waves before.
        public let extent: Extent
        /// How long its users are watched before the next one begins, in seconds.
        public let soakSeconds: Double
        /// How many clean shadow reads its users have to come to together.
        public let cleanShadowReads: Int
        /// How many writes its users have to make together, from when each came to the plan's stage.
        public let writes: Int
        /// What it says of how fast its users are moved, in the place of what the plan says.
        var own = OwnPace()
    }

    /// When users may be moved.
    public struct Hours: Sendable, Hashable {
        /// The first minute of the day.
        public let from: Int
        /// The minute behind the last one; before `from` where the time goes over midnight.
        public let to: Int
        /// The IANA name of the time zone.
        public let timeZone: String
    }

    /// What stops the fleet by itself.
    public struct Halts: Sendable, Hashable {
        /// So many errors in a row, of whichever users.
        public var errorsInARow = 5
        /// So many verifications of one user in a row that come to no conclusion.
        public var inconclusiveLooks = 3
        /// More than so many of a hundred of a wave's users who were taken back.
        public var demotedPercent = 0.1
        /// At least so many of a hundred seconds in which something waited for the disk; nil where that stops nothing.
        public var ioPressure: Double? = 80
        /// The 99th percentile of users' writes may be so many percent above that of users who were not moved; nil where that stops
        /// nothing. It is judged at the stage `complete`, at which one store is written, as at `off`.
        public var writeP99Percent: Double? = 25
        /// At least so many milliseconds, as the 99th percentile of all writes of a minute; nil where that stops nothing.
        public var writeP99Milliseconds: Double?
    }

    /// The stage that users are brought to.
    public var stage = Stage.complete
    /// The waves, in their order.
    public var waves: [Wave]
    /// How many users may be begun with in a minute; nil for any number.
    public var usersPerMinute: Double?
    /// How many mebibytes of users' stores may be copied in a second; nil for any number.
    public var mebibytesPerSecond: Double?
    /// How many users are moved at once.
    public var atOnce = 2
    /// How many heavy users are moved at once.
    public var heavyAtOnce = 1
    /// The share of seconds in which something waited for the disk, of a hundred, at which nobody is begun with; nil for none.
    public var ioPressure: Double? = 40
    /// The 99th percentile of all users' writes of a minute, in milliseconds, at which nobody is begun with; nil for none.
    public var writeP99Milliseconds: Double?
    /// From how many bytes on a user is heavy: moved in a lane of their own, after the others of the wave.
    public var heavyBytes = 268_435_456
    /// When users may be moved; nil for always.
    public var hours: Hours?
    /// When heavy users may be moved; nil for when the others may.
    public var heavyHours: Hours?
    /// How long whoever waits is left alone before the next look, in seconds.
    public var lookSeconds = 10.0
    /// What stops the fleet.
    public var halts = Halts()
    /// Who is told what is done, and asked before waves begin.
    public var hooks: [Hook] = []

    /// A plan with waves.
    public init(waves: [Wave] = standardWaves) { self.waves = waves }

    /// The waves of a plan that says nothing of them: ten users, 0.1, 1, 5, 25 and 100 of a hundred, each but the last one watched
    /// for a day.
    public static let standardWaves: [Wave] = {
        let day = 86_400.0
        func wave(_ name: String, _ extent: Wave.Extent, _ soakSeconds: Double) -> Wave {
            Wave(name: name, extent: extent, soakSeconds: soakSeconds, cleanShadowReads: 0, writes: 0)
        }
        return [wave("canary", .users(10), day)]
            + [0.1, 1, 5, 25].map { percent in
                wave((percent < 1 ? "\(percent)" : "\(Int(percent))") + " %", .percent(percent), day)
            } + [wave("everybody", .percent(100), 0)]
    }()
}
