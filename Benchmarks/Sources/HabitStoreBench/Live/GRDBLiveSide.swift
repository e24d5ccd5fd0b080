import Foundation
import GRDB
import HabitStore
import HabitTracker

/// GRDB's pool on a file with the same tables, followed by a `ValueObservation` with a constant region, with records decoded by column position:
/// GRDB's
/// fastest way.
final class GRDBLiveSide: LiveSide {
    static let sideName = "GRDB"

    var name: String { Self.sideName }
    private let pool: DatabasePool

    init(_ path: String, _ data: BenchData) throws {
        try GRDBTableContestant(.byHand, data).load(path)
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -16384") }
        pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    }

    func insert(_ entry: Entry) throws {
        try pool.write { database in
            let statement = try database.cachedStatement(
                sql: "INSERT INTO Entry (id, date, note, value, habitID) VALUES (?, ?, ?, ?, ?)"
            )
            try statement.execute(arguments: [
                entry.id, entry.date.timeIntervalSinceReferenceDate, entry.note, entry.value, entry.habitID,
            ])
        }
    }

    func update(_ entry: Entry) throws {
        try pool.write { database in
            try database.cachedStatement(sql: "UPDATE Entry SET value = ? WHERE id = ?")
                .execute(arguments: [entry.value, entry.id])
        }
    }

    func follow(_ progress: @escaping @Sendable (Int, Double?) -> Int) -> LiveConsumer {
        let observation = ValueObservation.trackingConstantRegion { database in
            try GRDBPlainEntry.fetchAll(
                database.cachedStatement(sql: "SELECT id, date, note, value, habitID FROM Entry ORDER BY date, id")
            )
        }
        return LiveConsumer(observation.values(in: pool)) { progress($0.count, $0.last?.value) }
    }

    func close() throws { try pool.close() }
}
