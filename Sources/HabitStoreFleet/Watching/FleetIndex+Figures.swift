import HabitStoreRollout

extension FleetIndex {
    /// Totals over all users.
    func figures() throws -> (arrived: Int, largestLag: Int) {
        var figures = (arrived: 0, largestLag: 0)
        try database.query("SELECT count(arrived), max(lag) FROM member") {
            figures = (arrived: $0.int(0), largestLag: $0.int(1))
        }
        return figures
    }

    /// Whether the last look found that a member's stores differ, or the gate is closed for that reason. The evidence may have refuted it since.
    static let differs = """
        (verdict = '\(Entry.different)' OR verdict = 'waits' AND difference IS NOT NULL
          AND (reasons LIKE '%\(GateReason.Kind.shadowDifferences.rawValue)%'
            OR reasons LIKE '%\(GateReason.Kind.verificationNotClean.rawValue)%'))
        """

    /// How many users wait for each reason; a user with several reasons counts under each.
    func usersByReason() throws -> [String: Int] {
        var users: [String: Int] = [:]
        for group in try reasons(limit: Self.mostGroups) {
            for kind in Set(group.reasons.split(separator: ",")) { users[String(kind), default: 0] += group.users }
        }
        return users
    }

    /// How many users wait for any of some reasons.
    func users(waitingByAnyOf kinds: [String]) throws -> Int {
        try reasons(limit: Self.mostGroups).reduce(0) { sum, group in
            let isMeant = group.reasons.split(separator: ",").contains { kinds.contains(String($0)) }
            return isMeant ? sum + group.users : sum
        }
    }

    /// The most groups of users with the same reasons that are read.
    private static let mostGroups = 10_000
}
