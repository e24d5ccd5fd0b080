import Foundation
import GRDB
import HabitStore
import HabitTracker

/// GRDB on its own file with the tables that its users would declare, with Codable records or by hand: cached statements, and records decoded by
/// column
/// position.
final class GRDBTableContestant: Contestant {
    enum Style: String {
        case codable = "GRDB, Codable records"
        case byHand = "GRDB, by hand"
    }

    var name: String { style.rawValue }
    private let style: Style
    private let data: BenchData
    private let entries: [GRDBCodableEntry]
    private let spare: [GRDBCodableEntry]
    private var queue: DatabaseQueue?
    private var path = ""

    private static let columns = "id, date, note, value, habitID"
    private static let insert = "INSERT INTO Entry (\(columns)) VALUES (?, ?, ?, ?, ?)"

    init(_ style: Style, _ data: BenchData) {
        self.style = style
        self.data = data
        (entries, spare) = (data.entries.map(GRDBCodableEntry.init), data.spare.map(GRDBCodableEntry.init))
    }

    /// GRDB keeps no history and does not sort, so those works would be no different.
    func takesPart(in work: Work) -> Bool { work != .commitsWithHistory && work != .bulkLoadSorted }

    private func opened(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        // The same as on the other sides.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -16384") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        return queue
    }

    func load(_ path: String) throws {
        let queue = try opened(path)
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE Habit (id BLOB NOT NULL PRIMARY KEY);
                    CREATE TABLE Entry (id BLOB NOT NULL PRIMARY KEY, date REAL NOT NULL, note TEXT, value REAL,
                        habitID BLOB REFERENCES Habit (id));
                    CREATE INDEX Entry_habitID_date ON Entry (habitID, date, id);
                    CREATE INDEX Entry_date ON Entry (date, id);
                    """
            )
            let habit = try database.cachedStatement(sql: "INSERT INTO Habit VALUES (?)")
            for id in data.habits.map(\.id) { try habit.execute(arguments: [id]) }
            for entry in entries { try add(entry, database) }
        }
        try queue.close()
    }

    func open(_ path: String) throws {
        self.path = path
        queue = try opened(path)
    }

    func close() throws {
        try queue?.close()
        queue = nil
    }

    func perform(_ work: Work, _ number: Int) throws -> UInt64 {
        if work == .openReadClose { return try openReadClose(number) }
        guard let queue else { throw BenchError("the store is not open") }
        switch work {
        case .commits, .commitsWithHistory:
            try queue.write { try add(spare[number], $0) }
            return 1
        case .bulkLoad, .bulkLoadSorted: return UInt64(try queue.read { try GRDBCodableEntry.fetchCount($0) })
        case .count: return UInt64(try queue.read { try count($0) })
        default:
            return try queue.read { database in
                style == .codable
                    ? try byCodable(work, database) : try byHand(work, database)
            }
        }
    }

    private func add(_ entry: GRDBCodableEntry, _ database: Database) throws {
        switch style {
        case .codable: try entry.insert(database)
        case .byHand:
            try database.cachedStatement(sql: Self.insert).execute(arguments: [
                entry.id, entry.date.timeIntervalSinceReferenceDate, entry.note, entry.value, entry.habitID,
            ])
        }
    }

    private func count(_ database: Database) throws -> Int {
        switch style {
        case .codable: try GRDBCodableEntry.filter(Column("value") > BenchData.countedAbove).fetchCount(database)
        case .byHand:
            try Int.fetchOne(
                database.cachedStatement(sql: "SELECT count(*) FROM Entry WHERE value > ?"),
                arguments: [BenchData.countedAbove]
            ) ?? 0
        }
    }

    private func byCodable(_ work: Work, _ database: Database) throws -> UInt64 {
        var sum: UInt64 = 0
        switch work {
        case .readsByIdentifier:
            for id in data.shuffled { sum &+= try GRDBCodableEntry.fetchOne(database, key: id)?.checksum ?? 0 }
        case .ranges:
            let date = Column("date")
            for (habit, from, to) in data.ranges {
                let request = GRDBCodableEntry.filter(Column("habitID") == habit)
                    .filter(date >= from.timeIntervalSinceReferenceDate && date < to.timeIntervalSinceReferenceDate)
                sum &+= try request.order(date, Column("id")).fetchAll(database).checksum
            }
        case .filter:
            let request = GRDBCodableEntry.filter(Column("note").like("%\(BenchData.needle)%"))
            sum = try request.fetchAll(database).checksum
        default: sum = try GRDBCodableEntry.fetchAll(database).checksum
        }
        return sum
    }

    private func byHand(_ work: Work, _ database: Database) throws -> UInt64 {
        var sum: UInt64 = 0
        func fetch(_ condition: String, _ arguments: StatementArguments) throws -> [GRDBPlainEntry] {
            try GRDBPlainEntry.fetchAll(
                database.cachedStatement(sql: "SELECT \(Self.columns) FROM Entry \(condition)"),
                arguments: arguments
            )
        }
        switch work {
        case .readsByIdentifier:
            let statement = try database.cachedStatement(sql: "SELECT \(Self.columns) FROM Entry WHERE id = ?")
            for id in data.shuffled { sum &+= try GRDBPlainEntry.fetchOne(statement, arguments: [id])?.checksum ?? 0 }
        case .ranges:
            for (habit, from, to) in data.ranges {
                let limits = (from.timeIntervalSinceReferenceDate, to.timeIntervalSinceReferenceDate)
                let condition = "WHERE habitID = ? AND date >= ? AND date < ? ORDER BY date, id"
                sum &+= try fetch(condition, [habit, limits.0, limits.1]).checksum
            }
        case .filter: sum = try fetch("WHERE instr(note, ?) > 0", [BenchData.needle]).checksum
        default: sum = try fetch("", []).checksum
        }
        return sum
    }

    private func openReadClose(_ number: Int) throws -> UInt64 {
        let queue = try opened(path)
        let found = try queue.read { try GRDBCodableEntry.fetchOne($0, key: data.shuffled[number]) }
        try queue.close()
        return found?.checksum ?? 0
    }
}
