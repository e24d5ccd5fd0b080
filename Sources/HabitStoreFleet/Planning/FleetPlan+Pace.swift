import HabitStoreRollout

extension FleetPlan {
    /// The last stage up to the plan's that has shadow reads; nil if there is none.
    var lastShadowedStage: Stage? { Stage.allCases.last { $0 <= stage && $0.shadow != nil } }

    /// How fast and when users may be started.
    struct Pace: Sendable, Hashable {
        var usersPerMinute: Double?
        var mebibytesPerSecond: Double?
        var atOnce: Int
        var heavyAtOnce: Int
        var heavyBytes: Int
        var hours: Hours?
        /// Nil for the same hours as other users.
        var heavyHours: Hours?
    }

    /// The pace that a wave sets itself; nil for the plan's.
    struct OwnPace: Sendable, Hashable {
        var usersPerMinute: Double?
        var mebibytesPerSecond: Double?
        var atOnce: Int?
        var heavyAtOnce: Int?
        var heavyBytes: Int?
        var hours: Hours?
        var heavyHours: Hours?
    }

    /// The pace of a wave: its own values, or else the plan's.
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

    /// The shortest time that a wave can take, in seconds: moving its users at the plan's pace, and the soak.
    ///
    /// - Parameter bytes: the total size of its users' stores.
    public func leastSeconds(ofWave wave: Int, users: Int, bytes: Int) -> Double {
        guard users > 0 else { return 0 }
        let pace = pace(of: wave)
        let moving = pace.usersPerMinute.map { Double(users) * 60 / $0 } ?? 0
        let copying = pace.mebibytesPerSecond.map { Double(bytes) / 1_048_576 / $0 } ?? 0
        return max(moving, copying) + waves[wave].soakSeconds
    }
}
