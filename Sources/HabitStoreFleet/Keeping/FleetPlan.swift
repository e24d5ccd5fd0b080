import HabitStore
import HabitStoreRollout

/// How users are moved in waves: which users together, how fast, how long each wave is watched, and what halts the fleet.
///
/// In JSON or YAML (`schemas/fleet-plan.schema.json`), all fields are optional.
public struct FleetPlan: Sendable, Hashable {
    /// Users who are moved and watched together.
    public struct Wave: Sendable, Hashable {
        /// How many users have been moved once the wave is done.
        public enum Extent: Sendable, Hashable {
            /// A number of users.
            case users(Int)
            /// A percentage of the users who exist when the waves are drawn.
            case percent(Double)
        }

        /// The wave's name.
        public let name: String
        /// The number of users in it and in all earlier waves.
        public let extent: Extent
        /// How long its users are watched before the next wave begins, in seconds.
        public let soakSeconds: Double
        /// How many clean shadow reads its users need in total.
        public let cleanShadowReads: Int
        /// How many writes its users need in total, each counted from reaching the plan's stage.
        public let writes: Int
        /// The wave's own pace, which overrides the plan's.
        var own = Pace()
    }

    /// When users may be moved.
    public struct Hours: Sendable, Hashable {
        /// The first minute of the day.
        public let from: Int
        /// The minute after the last one; less than `from` if the hours include midnight.
        public let to: Int
        /// The IANA name of the time zone.
        public let timeZone: String
    }

    /// The conditions that halt the fleet.
    public struct Halts: Sendable, Hashable {
        /// This many errors in a row, of any users.
        public var errorsInARow = 5
        /// This many inconclusive verifications of one user in a row.
        public var inconclusiveLooks = 3
        /// More than this percentage of a wave's users were taken back.
        public var demotedPercent = 0.1
        /// At least this percentage of the time some process waited for the disk; nil to ignore that.
        public var ioPressure: Double? = 80
        /// The 99th percentile of users' writes exceeds that of users at `off` by this many percent; nil to ignore that. It applies only to the stage
        /// `complete`, where one store is written, as at `off`.
        public var writeP99Percent: Double? = 25
        /// The 99th percentile of all writes in a minute is at least this many milliseconds; nil to ignore that.
        public var writeP99Milliseconds: Double?
    }

    /// The stage to move users to.
    public var stage = Stage.complete
    /// The waves, in order.
    public var waves: [Wave]
    /// How many users may be started per minute; nil for no limit.
    public var usersPerMinute: Double?
    /// How many mebibytes of users' stores may be copied per second; nil for no limit.
    public var mebibytesPerSecond: Double?
    /// How many users are moved at the same time.
    public var atOnce = 2
    /// How many heavy users are moved at the same time.
    public var heavyAtOnce = 1
    /// No users are started while some process waits for the disk for this percentage of the time; nil to ignore that.
    public var ioPressure: Double? = 40
    /// No users are started while the 99th percentile of all writes in a minute is this many milliseconds; nil to ignore that.
    public var writeP99Milliseconds: Double?
    /// The size in bytes from which a user is heavy: moved after the wave's other users, within ``heavyAtOnce`` and ``heavyHours``.
    public var heavyBytes = 268_435_456
    /// When users may be moved; nil for always.
    public var hours: Hours?
    /// When heavy users may be moved; nil for the same hours as other users.
    public var heavyHours: Hours?
    /// The seconds between two looks at users who wait.
    public var lookSeconds = 10.0
    /// The conditions that halt the fleet.
    public var halts = Halts()
    /// The programs that get events and confirm waves.
    public var hooks: [Hook] = []

    /// A plan with waves.
    public init(waves: [Wave] = standardWaves) { self.waves = waves }

    /// The waves of a plan without any: ten users, then 0.1, 1, 5, 25 and 100 percent, each but the last one watched for a day.
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

extension FleetPlan {
    /// The last stage up to the plan's that has shadow reads; nil if there is none.
    var lastShadowedStage: Stage? { Stage.allCases.last { $0 <= stage && $0.shadow != nil } }

    /// How fast and when users may be started; nil for the normal pace, in a wave for the plan's.
    struct Pace: Sendable, Hashable {
        var usersPerMinute: Double?
        var mebibytesPerSecond: Double?
        var atOnce: Int?
        var heavyAtOnce: Int?
        var heavyBytes: Int?
        var hours: Hours?
        var heavyHours: Hours?
    }

    /// Takes over the values of a pace that are not nil.
    mutating func take(_ pace: Pace) {
        usersPerMinute = pace.usersPerMinute ?? usersPerMinute
        mebibytesPerSecond = pace.mebibytesPerSecond ?? mebibytesPerSecond
        atOnce = pace.atOnce ?? atOnce
        heavyAtOnce = pace.heavyAtOnce ?? heavyAtOnce
        heavyBytes = pace.heavyBytes ?? heavyBytes
        hours = pace.hours ?? hours
        heavyHours = pace.heavyHours ?? heavyHours
    }

    /// The plan with the pace of a wave.
    ///
    /// - Parameter wave: the wave's number, from 0.
    func paced(for wave: Int) -> FleetPlan {
        var plan = self
        if waves.indices.contains(wave) { plan.take(waves[wave].own) }
        return plan
    }

    /// The shortest time that a wave can take, in seconds: moving its users at the plan's pace, and the soak.
    ///
    /// - Parameter bytes: the total size of its users' stores.
    public func leastSeconds(ofWave wave: Int, users: Int, bytes: Int) -> Double {
        guard users > 0 else { return 0 }
        let pace = paced(for: wave)
        let moving = pace.usersPerMinute.map { Double(users) * 60 / $0 } ?? 0
        let copying = pace.mebibytesPerSecond.map { Double(bytes) / 1_048_576 / $0 } ?? 0
        return max(moving, copying) + waves[wave].soakSeconds
    }
}

extension FleetPlan {
    /// The cohort of a user with stores of this size.
    func cohort(_ bytes: Int) -> FleetMembers.Cohort { bytes >= heavyBytes ? .heavy : .normal }

    /// How many users of a cohort are moved at the same time.
    func atOnce(_ cohort: FleetMembers.Cohort) -> Int { cohort == .heavy ? heavyAtOnce : atOnce }

    /// When users of a cohort may be started; nil for always.
    func hours(_ cohort: FleetMembers.Cohort) -> Hours? { cohort == .heavy ? heavyHours ?? hours : hours }
}

extension FleetPlan {
    /// A program that gets a fleet's events.
    public struct Hook: Sendable, Hashable {
        /// The name that errors and reports use.
        public let name: String
        /// The path of the executable; nil in a plan that was drawn when hooks were URLs. The hook's events then wait until the plan is drawn again.
        public let program: String?
        /// The program's arguments.
        public var arguments: [String] = []
        /// The events that it gets; nil for all.
        public var events: Set<String>?
        /// Whether each wave waits until the hook has ended with exit code 0.
        public var confirmsWaves = false
        /// Whether it gets the ids of users for whom the fleet was halted.
        public var namesUsers = false
        /// How long the program may run, in seconds.
        public var timeoutSeconds = 10.0

        /// A hook that gets every event.
        public init(name: String, program: String) {
            (self.name, self.program) = (name, program)
        }

        /// A hook of a plan that was drawn when hooks were URLs.
        init(formerlyNamed name: String) {
            (self.name, program) = (name, nil)
        }

        /// Whether it gets an event.
        func wants(_ event: FleetEvent) -> Bool { events?.contains(event.kind) ?? true }
    }
}
