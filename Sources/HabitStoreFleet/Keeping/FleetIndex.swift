import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// The index of all users, for frequent queries: `fleet.sqlite`. The stores are the truth, and it is rebuilt from them.
final class FleetIndex {
    /// The last known state of a user.
    struct Entry: Hashable {
        var user: String
        var wave: Int
        var cohort: FleetMembers.Cohort
        /// Nil if the user was not examined yet, or no store can tell.
        var stage: Stage?
        var epoch: Int?
        var token: Int?
        var lag: Int?
        var bytes: Int
        /// The result of the last verification or attempt to move the user.
        var verdict: String?
        /// Why the user waits, as comma-separated kinds of the gate's reasons, or the error.
        var reasons: String?
        /// The clean shadow reads since the user left `off`, from the evidence.
        var cleanReads: Int
        /// When the user reached the plan's stage, in seconds since 1970, and the token at that time.
        var arrived: Double?
        var arrivedToken: Int?
        /// The fingerprint of the user's files at the last look.
        var sign: Int?
        /// When the user was first seen at the stage, in seconds since 1970.
        var moved: Double?
        /// The last difference that was found between the user's stores, without the user's values.
        var difference: String?
    }

    let database: IndexDatabase
    private static let version = 2

    private init(_ database: IndexDatabase) { self.database = database }

    /// Opens the index.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none, ``HabitStoreError/Code/corrupt`` if it is damaged.
    static func open(_ folder: FleetFolder) throws -> FleetIndex {
        guard FileManager.default.fileExists(atPath: folder.index) else {
            throw HabitStoreError(
                .notFound,
                "the fleet has no index; build it from the stores with `\(OperatorCommand.name) fleet audit --rebuild`",
                at: .init(path: folder.index)
            )
        }
        let database = try IndexDatabase(folder.index, mayMake: false)
        var found = -1
        try database.query("PRAGMA user_version") { found = $0.int(0) }
        guard found == version else {
            throw HabitStoreError(
                found > version ? .newerVersion : .corrupt,
                "the fleet's index has version \(found), but this program knows version \(version); rebuild it with `\(OperatorCommand.name) fleet audit "
                    + "--rebuild`",
                at: .init(path: folder.index)
            )
        }
        var verdict = ""
        try database.query("PRAGMA quick_check(1)") { verdict = $0.text(0) ?? "" }
        guard verdict == "ok" else {
            throw HabitStoreError(
                .corrupt,
                "the fleet's index is damaged, so no user is moved: rebuild it from the stores with `\(OperatorCommand.name) fleet audit --rebuild`",
                at: .init(path: folder.index)
            )
        }
        return FleetIndex(database)
    }

    /// Builds a new index under another name and then replaces the old one, so that a killed process has changed nothing. Nothing is taken over from
    /// the old index.
    ///
    /// - Parameters:
    ///   - head: the ledger's head.
    ///   - fill: adds what is known of the members.
    static func make(
        _ folder: FleetFolder,
        _ members: FleetMembers,
        head: String?,
        fill: (FleetIndex) throws -> Void = { _ in }
    ) throws {
        try remove(folder.indexDraft, "the draft of an earlier index")
        try write(folder, members, head: head, fill: fill)
        try remove(folder.index, "the fleet's index", keepsFile: true)
        do {
            try DurableFile.move(folder.indexDraft, to: folder.index)
        } catch {
            throw HabitStoreError.system(error, "the fleet's index")
        }
    }

    /// Removes an index and SQLite's files next to it.
    ///
    /// - Parameter keepsFile: whether to remove only SQLite's files, because SQLite would apply an old log to a new file of the same name.
    static func remove(_ path: String, _ what: String, keepsFile: Bool = false) throws {
        for ending in (keepsFile ? [] : [""]) + ["-wal", "-shm", "-journal"] {
            guard unlink(path + ending) == 0 || errno == ENOENT else {
                throw HabitStoreError(
                    .permissionDenied,
                    "\(what) cannot be replaced: \(String(cString: strerror(errno)))",
                    at: .init(path: path + ending)
                )
            }
        }
    }

    /// The database is closed when this returns, and SQLite removes its files next to it.
    private static func write(
        _ folder: FleetFolder,
        _ members: FleetMembers,
        head: String?,
        fill: (FleetIndex) throws -> Void
    ) throws {
        let database = try IndexDatabase(folder.indexDraft, mayMake: true)
        try database.run(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            CREATE TABLE member (
              user TEXT PRIMARY KEY, wave INTEGER NOT NULL, lane TEXT NOT NULL, stage INTEGER, epoch INTEGER, token INTEGER,
              lag INTEGER, bytes INTEGER NOT NULL, verdict TEXT, reasons TEXT, cleanReads INTEGER NOT NULL DEFAULT 0,
              arrived REAL, arrivedToken INTEGER, sign INTEGER, moved REAL, difference TEXT
            ) WITHOUT ROWID;
            CREATE TABLE writes (
              time REAL NOT NULL, stage INTEGER NOT NULL, count INTEGER NOT NULL, p50 REAL NOT NULL, p99 REAL NOT NULL,
              PRIMARY KEY (time, stage)
            ) WITHOUT ROWID;
            CREATE TABLE word (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
            PRAGMA user_version = \(version);
            """
        )
        let index = FleetIndex(database)
        try index.add(members.members)
        try index.set(Self.head, head)
        try fill(index)
    }

    /// Adds members who are missing.
    func add(_ members: [FleetMembers.Member]) throws {
        try database.transaction {
            for member in members {
                try database.query(
                    "INSERT OR IGNORE INTO member (user, wave, lane, bytes) VALUES (?1, ?2, ?3, ?4)",
                    [.text(member.user), .int(member.wave), .text(member.cohort.rawValue), .int(member.bytes)]
                )
            }
        }
    }

    /// Records what is known of users, atomically.
    func note(_ entries: [Entry]) throws {
        try database.transaction {
            for entry in entries {
                try database.query(
                    """
                    UPDATE member SET stage = ?2, epoch = ?3, token = ?4, lag = ?5, verdict = ?6, reasons = ?7, cleanReads = ?8,
                      arrived = ?9, arrivedToken = ?10, sign = ?11, moved = ?12, difference = ?13
                    WHERE user = ?1
                    """,
                    [
                        .text(entry.user), .of(entry.stage?.position), .of(entry.epoch), .of(entry.token),
                        .of(entry.lag), .of(entry.verdict), .of(entry.reasons), .int(entry.cleanReads),
                        .of(entry.arrived), .of(entry.arrivedToken), .of(entry.sign), .of(entry.moved),
                        .of(entry.difference),
                    ]
                )
            }
        }
    }

    /// Forgets a user and leaves no trace of the row in the file.
    func forget(_ user: String) throws {
        try database.run("PRAGMA secure_delete = ON")
        try database.query("DELETE FROM member WHERE user = ?1", [.text(user)])
        try database.run("VACUUM")
        try database.query("PRAGMA wal_checkpoint(TRUNCATE)") { _ in }
    }

    /// All users.
    func entries() throws -> [Entry] {
        var entries: [Entry] = []
        try database.query("SELECT \(Self.columns) FROM member ORDER BY user") { entries.append(try Self.entry($0)) }
        return entries
    }

    /// One user; nil if it is not a member.
    func entry(_ user: String) throws -> Entry? {
        var found: Entry?
        try database.query("SELECT \(Self.columns) FROM member WHERE user = ?1", [.text(user)]) {
            found = try Self.entry($0)
        }
        return found
    }

    static let columns =
        "user, wave, lane, stage, epoch, token, lag, bytes, verdict, reasons, cleanReads, arrived, arrivedToken, sign, moved, "
        + "difference"

    static func entry(_ row: IndexDatabase.Row) throws -> Entry {
        Entry(
            user: row.text(0) ?? "",
            wave: row.int(1),
            cohort: row.text(2).flatMap(FleetMembers.Cohort.init) ?? .normal,
            stage: row.optionalInt(3).flatMap(Stage.init(position:)),
            epoch: row.optionalInt(4),
            token: row.optionalInt(5),
            lag: row.optionalInt(6),
            bytes: row.int(7),
            verdict: row.text(8),
            reasons: row.text(9),
            cleanReads: row.int(10),
            arrived: row.optionalDouble(11),
            arrivedToken: row.optionalInt(12),
            sign: row.optionalInt(13),
            moved: row.optionalDouble(14),
            difference: row.text(15)
        )
    }

    // MARK: Totals

    /// How many users of each wave are at each stage; the stage is nil for users without a known one.
    func counts() throws -> [(wave: Int, stage: Stage?, users: Int, bytes: Int)] {
        var counts: [(wave: Int, stage: Stage?, users: Int, bytes: Int)] = []
        try database.query("SELECT wave, stage, count(*), sum(bytes) FROM member GROUP BY wave, stage") { row in
            let stage = row.optionalInt(1).flatMap(Stage.init(position:))
            counts.append((wave: row.int(0), stage: stage, users: row.int(2), bytes: row.int(3)))
        }
        return counts
    }

    /// Why users wait, the most frequent first.
    func reasons(limit: Int = 10) throws -> [(reasons: String, users: Int)] {
        var found: [(reasons: String, users: Int)] = []
        try database.query(
            """
            SELECT reasons, count(*) AS users FROM member WHERE reasons IS NOT NULL
            GROUP BY reasons ORDER BY users DESC, reasons LIMIT ?1
            """,
            [.int(limit)]
        ) { found.append((reasons: $0.text(0) ?? "", users: $0.int(1))) }
        return found
    }

    /// How many users have reached the plan's stage since a time, in seconds since 1970, and when the first of them did; nil if none has.
    func arrivals(since time: Double) throws -> (users: Int, first: Double?) {
        var found: (users: Int, first: Double?) = (0, nil)
        try database.query("SELECT count(*), min(arrived) FROM member WHERE arrived >= ?1", [.double(time)]) { row in
            found = (row.int(0), row.optionalDouble(1))
        }
        return found
    }

    // MARK: Writes

    /// Adds the durations of users' writes in a period, and removes those older than ``writesSeconds``.
    func add(_ writes: [FleetWrites]) throws {
        try database.transaction {
            for part in writes {
                try database.query(
                    "INSERT OR REPLACE INTO writes (time, stage, count, p50, p99) VALUES (?1, ?2, ?3, ?4, ?5)",
                    [
                        .double(part.time.timeIntervalSince1970), .int(part.stage.position), .int(part.count),
                        .double(part.p50Seconds), .double(part.p99Seconds),
                    ]
                )
            }
            guard let last = writes.map(\.time.timeIntervalSince1970).max() else { return }
            try database.query("DELETE FROM writes WHERE time < ?1", [.double(last - Self.writesSeconds)])
        }
    }

    /// How long the durations of writes are stored: a week.
    private static let writesSeconds = 604_800.0

    /// The durations of users' writes since a time, in order.
    func writes(since time: Date) throws -> [FleetWrites] {
        var writes: [FleetWrites] = []
        try database.query(
            "SELECT time, stage, count, p50, p99 FROM writes WHERE time >= ?1 ORDER BY time, stage",
            [.double(time.timeIntervalSince1970)]
        ) { row in
            guard let stage = Stage(position: row.int(1)) else { return }
            writes.append(
                FleetWrites(
                    time: Date(timeIntervalSince1970: row.optionalDouble(0) ?? 0),
                    stage: stage,
                    count: row.int(2),
                    p50Seconds: row.optionalDouble(3) ?? 0,
                    p99Seconds: row.optionalDouble(4) ?? 0
                )
            )
        }
        return writes
    }

    // MARK: State of the run

    /// The key of the ledger's head.
    static let head = "ledger"
    /// The key of the line that says what the run is doing.
    static let doing = "doing"

    /// Sets the value of a key.
    func set(_ name: String, _ value: String?) throws {
        try database.query("INSERT OR REPLACE INTO word (name, value) VALUES (?1, ?2)", [.text(name), .of(value)])
    }

    /// The value of a key.
    func word(_ name: String) throws -> String? {
        var value: String?
        try database.query("SELECT value FROM word WHERE name = ?1", [.text(name)]) { value = $0.text(0) }
        return value
    }
}

extension IndexDatabase.Value {
    fileprivate static func of(_ value: Int?) -> Self { value.map { .int($0) } ?? .null }

    fileprivate static func of(_ value: Double?) -> Self { value.map { .double($0) } ?? .null }

    fileprivate static func of(_ value: String?) -> Self { value.map { .text($0) } ?? .null }
}

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

/// The durations of writes by all users at one stage, in the period that ended at ``time``.
public struct FleetWrites: Sendable, Hashable {
    /// The end of the period.
    public let time: Date
    /// The stage of the users who wrote.
    public let stage: Stage
    /// How many writes there were.
    public let count: Int
    /// The median duration of a write, in seconds.
    public let p50Seconds: Double
    /// The 99th percentile of the durations of writes, in seconds.
    public let p99Seconds: Double
}
