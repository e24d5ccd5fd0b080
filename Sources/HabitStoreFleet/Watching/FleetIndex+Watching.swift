import Foundation
import HabitStoreRollout

extension FleetIndex {
    /// What the users of a wave come to.
    struct WaveSums {
        var arrived = 0
        var refused = 0
        var cleanReads = 0
        var writes = 0
    }

    /// What all users come to.
    struct Sums {
        /// By the waves' numbers.
        var waves: [Int: WaveSums] = [:]
        var lagging = 0
        var lag = 0
        var mostLag = 0
    }

    /// Adds up what is known of everybody, wave by wave.
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

    /// Users of whom the index says that their stores differ, those who were moved last first.
    func different() throws -> [Entry] {
        var found: [Entry] = []
        try database.query("SELECT \(Self.columns) FROM member WHERE \(Self.differs) ORDER BY moved DESC, user") {
            found.append(try Self.entry($0))
        }
        return found
    }

    /// Who has waited longest where the user is.
    func slowest(limit: Int, _ names: FleetNames) throws -> [FleetOverview.User] {
        try users("WHERE reasons IS NOT NULL ORDER BY moved IS NULL, moved, user", limit, names)
    }

    /// Whose stores are largest.
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

    /// Who came to a store of the new engine last, of those who are on it; nil where nobody is.
    func lastServed() throws -> String? {
        var user: String?
        try database.query(
            "SELECT user FROM member WHERE stage >= ?1 AND moved IS NOT NULL ORDER BY moved DESC, user LIMIT 1",
            [.int(Stage.live.position)]
        ) { user = $0.text(0) }
        return user
    }

    /// Another number than before where another process has changed the index since.
    func dataVersion() throws -> Int {
        var version = 0
        try database.query("PRAGMA data_version") { version = $0.int(0) }
        return version
    }
}
