import HabitStoreRollout

extension FleetPlan {
    /// The last stage on the way to the plan's at which reads are compared; nil where there is none.
    var lastShadowedStage: Stage? { Stage.allCases.last { $0 <= stage && $0.shadow != nil } }

    /// How fast users may be begun with, and when.
    struct Pace: Sendable, Hashable {
        var usersPerMinute: Double?
        var mebibytesPerSecond: Double?
        var atOnce: Int
        var heavyAtOnce: Int
        var heavyBytes: Int
        var hours: Hours?
        /// nil for those of the others.
        var heavyHours: Hours?
    }

    /// What a wave says for itself; nil for what the plan says.
    struct OwnPace: Sendable, Hashable {
        var usersPerMinute: Double?
        var mebibytesPerSecond: Double?
        var atOnce: Int?
        var heavyAtOnce: Int?
        var heavyBytes: Int?
        var hours: Hours?
        var heavyHours: Hours?
    }

    /// How fast the users of a wave are moved: what the wave says, else what the plan says.
    ///
    /// - Parameter wave: the wave's number, from 0.
    func pace(of wave: Int) -> Pace {
        let own = waves.indices.contains(wave) ? waves[wave].own : OwnPace()
        return Pace(
            usersPerMinute: own.usersPerMinute ?? usersPerMinute,
            mebibytesPerSecond: own.mebibytesPerSecond ?? mebibytesPerSecond,
            atOnce: own.atOnce ?? atOnce,
            heavyAtOnce: own.heavyAtOnce ?? heavyAtOnce,
            heavyBytes: own.heavyBytes ?? heavyBytes,
            hours: own.hours ?? hours,
            heavyHours: own.heavyHours ?? heavyHours
        )
    }

    /// How long a wave takes at least, in seconds: by the plan's pace, and watched.
    ///
    /// - Parameter bytes: how large its users' stores are together.
    public func leastSeconds(ofWave wave: Int, users: Int, bytes: Int) -> Double {
        guard users > 0 else { return 0 }
        let pace = pace(of: wave)
        let moving = pace.usersPerMinute.map { Double(users) * 60 / $0 } ?? 0
        let copying = pace.mebibytesPerSecond.map { Double(bytes) / 1_048_576 / $0 } ?? 0
        return max(moving, copying) + waves[wave].soakSeconds
    }
}
