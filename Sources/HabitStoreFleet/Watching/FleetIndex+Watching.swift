import Foundation
import HabitStoreRollout

extension FleetIndex {
    /// The totals of a wave's users.
    struct WaveSums {
        var arrived = 0
        var refused = 0
        var cleanReads = 0
        var writes = 0
    }

    /// The totals of all users.
    struct Sums {
        /// By the wave's number.
        var waves: [Int: WaveSums] = [:]
        var lagging = 0
        var lag = 0
        var mostLag = 0
    }

    /// Totals what is known of all users, by wave.
    func sums() throws -> Sums {
        var sums = Sums()
        try database.query(
            """
            SELECT wave, count(arrived), count(reasons), total(cleanReads),
              total(CASE WHEN token > arrivedToken THEN token - arrivedToken END),
              count(CASE WHEN lag > 0 THEN 1 END), total(lag), max(lag)
            FROM member GROUP BY wave
            """
        ) { row in
            sums.waves[row.int(0)] = WaveSums(
                arrived: row.int(1),
                refused: row.int(2),
                cleanReads: Self.whole(row.optionalDouble(3)),
                writes: Self.whole(row.optionalDouble(4))
            )
            sums.lagging += row.int(5)
            sums.lag = Self.whole(Double(sums.lag) + (row.optionalDouble(6) ?? 0))
            sums.mostLag = max(sums.mostLag, row.optionalInt(7) ?? 0)
        }
        return sums
    }

    private static func whole(_ number: Double?) -> Int { Int(exactly: (number ?? 0).rounded()) ?? .max }

    /// The users whose stores differ by the index, the last moved first.
    func different() throws -> [Entry] {
        var found: [Entry] = []
        try database.query("SELECT \(Self.columns) FROM member WHERE \(Self.differs) ORDER BY moved DESC, user") {
            found.append(try Self.entry($0))
        }
        return found
    }

    /// The users who have waited longest at their stage.
    func slowest(limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        try users("WHERE reasons IS NOT NULL ORDER BY moved IS NULL, moved, user", limit, names)
    }

    /// The users with the largest stores.
    func largest(limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        try users("ORDER BY bytes DESC, user", limit, names)
    }

    private func users(_ order: String, _ limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        var found: [FleetOverview.User] = []
        try database.query(
            "SELECT user, wave, stage, bytes, moved, reasons FROM member \(order) LIMIT ?1",
            [.int(limit)]
        ) {
            row in
            found.append(
                .init(
                    user: names.name(of: row.text(0) ?? ""),
                    wave: row.int(1),
                    stage: row.optionalInt(2).flatMap(Stage.init(position:)),
                    bytes: row.int(3),
                    since: row.optionalDouble(4).map(Date.init(timeIntervalSince1970:)),
                    reasons: row.text(5)?.split(separator: ",").map(String.init) ?? []
                )
            )
        }
        return found
    }

    /// The user who was last moved to a stage that the new engine serves; nil if there is none.
    func lastServed() throws -> String? {
        var user: String?
        try database.query(
            "SELECT user FROM member WHERE stage >= ?1 AND moved IS NOT NULL ORDER BY moved DESC, user LIMIT 1",
            [.int(Stage.live.position)]
        ) { user = $0.text(0) }
        return user
    }

    /// A number that differs after another process has changed the index.
    func dataVersion() throws -> Int {
        var version = 0
        try database.query("PRAGMA data_version") { version = $0.int(0) }
        return version
    }
}
