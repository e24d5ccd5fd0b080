import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// What is known of everybody, for whoever asks often: `fleet.sqlite`. The stores are the truth, and it is made anew from them.
final class FleetIndex {
    /// A user, as last seen.
    struct Entry: Hashable {
        var user: String
        var wave: Int
        var lane: FleetMembers.Lane
        /// nil where nobody has looked, or no store can tell.
        var stage: Stage?
        var epoch: Int?
        var token: Int?
        var lag: Int?
        var bytes: Int
        /// What a verification, or a try to move the user, came to last.
        var verdict: String?
        /// Why the user waits, by the kinds of the gate's reasons, with commas between; or what went wrong.
        var reasons: String?
        /// The clean shadow reads since the user left `off`, as the evidence has them.
        var cleanReads: Int
        /// When the user came to the plan's stage, in seconds since 1970, and the token then.
        var arrived: Double?
        var arrivedToken: Int?
        /// What the user's files looked like then.
        var sign: Int?
        /// When the user was first seen at the stage, in seconds since 1970.
        var moved: Double?
        /// The difference between the user's stores that was found last, without what is the user's own.
        var difference: String?
    }

    let database: IndexDatabase
    private static let version = 2

    private init(_ database: IndexDatabase) { self.database = database }

    /// Opens the index.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` where there is none, ``HabitStoreError/Code/corrupt`` for one that is damaged.
    static func open(_ folder: FleetFolder) throws -> FleetIndex {
        guard FileManager.default.fileExists(atPath: folder.index) else {
            throw HabitStoreError(
                .notFound,
                "the fleet has no index; make it from the stores with `\(OperatorCommand.name) fleet audit --rebuild`",
                at: .init(path: folder.index)
            )
        }
        let database = try IndexDatabase(folder.index, mayMake: false)
        var found = -1
        try database.query("PRAGMA user_version") { found = $0.int(0) }
        guard found == version else {
            throw HabitStoreError(
                found > version ? .newerVersion : .corrupt,
                "the fleet's index is of version \(found), and this program knows \(version); make it anew with `\(OperatorCommand.name) fleet audit "
                    + "--rebuild`",
                at: .init(path: folder.index)
            )
        }
        var verdict = ""
        try database.query("PRAGMA quick_check(1)") { verdict = $0.text(0) ?? "" }
        guard verdict == "ok" else {
            throw HabitStoreError(
                .corrupt,
                "the fleet's index is damaged; nobody is moved by it: make it anew from the stores with `\(OperatorCommand.name) fleet audit --rebuild`",
                at: .init(path: folder.index)
            )
        }
        return FleetIndex(database)
    }

    /// Makes the index anew, under another name, and puts it in its place: a process that dies before has changed nothing. What is known of
    /// members who are in the old one is not taken over.
    ///
    /// - Parameters:
    ///   - head: the place that the ledger has come to.
    ///   - fill: notes what is known of the members.
    static func make(
        _ folder: FleetFolder,
        _ members: FleetMembers,
        head: String?,
        fill: (FleetIndex) throws -> Void = { _ in }
    ) throws {
        try remove(folder.indexDraft, "what an earlier one has left")
        try write(folder, members, head: head, fill: fill)
        try remove(folder.index, "the fleet's index", keepsFile: true)
        do {
            try DurableFile.move(folder.indexDraft, to: folder.index)
        } catch {
            throw HabitStoreError.system(error, "the fleet's index")
        }
    }

    /// Removes the file of an index and what SQLite has put beside it.
    ///
    /// - Parameter keepsFile: whether only what lies beside it goes: a log is taken for that of whatever file has the name.
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

    /// Closed when this returns, and with it all that SQLite has put beside the file.
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

    /// Adds members who are not in it.
    func add(_ members: [FleetMembers.Member]) throws {
        try database.transaction {
            for member in members {
                try database.query(
                    "INSERT OR IGNORE INTO member (user, wave, lane, bytes) VALUES (?1, ?2, ?3, ?4)",
                    [.text(member.user), .int(member.wave), .text(member.lane.rawValue), .int(member.bytes)]
                )
            }
        }
    }

    /// Writes down what is known of users, all or none.
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

    /// Forgets a user, and brings the file to a state in which nothing of the row is left in it.
    func forget(_ user: String) throws {
        try database.run("PRAGMA secure_delete = ON")
        try database.query("DELETE FROM member WHERE user = ?1", [.text(user)])
        try database.run("VACUUM")
        try database.query("PRAGMA wal_checkpoint(TRUNCATE)") { _ in }
    }

    /// Everybody.
    func entries() throws -> [Entry] {
        var entries: [Entry] = []
        try database.query("SELECT \(Self.columns) FROM member ORDER BY user") { entries.append(try Self.entry($0)) }
        return entries
    }

    /// One user; nil for who is no member.
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
            lane: row.text(2).flatMap(FleetMembers.Lane.init) ?? .normal,
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

    // MARK: Sums

    /// How many users of each wave are at each stage; nil for those of whom nothing is known.
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

    /// How many users have come to the plan's stage since a time, in seconds since 1970, and when the first of them had; nil for nobody.
    func arrivals(since time: Double) throws -> (users: Int, first: Double?) {
        var found: (users: Int, first: Double?) = (0, nil)
        try database.query("SELECT count(*), min(arrived) FROM member WHERE arrived >= ?1", [.double(time)]) { row in
            found = (row.int(0), row.optionalDouble(1))
        }
        return found
    }

    // MARK: Writes

    /// Adds how long users' writes took in a stretch of time, and forgets what is older than ``writesSeconds``.
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

    /// How long what is known of users' writes is kept: a week.
    private static let writesSeconds = 604_800.0

    /// How long users' writes took since a time, in the order of time.
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

    // MARK: What the run is doing

    /// The name of the word that says how far the ledger had come.
    static let head = "ledger"
    /// The name of the word that says in one line what the run is doing.
    static let doing = "doing"

    /// Keeps a word under a name.
    func set(_ name: String, _ value: String?) throws {
        try database.query("INSERT OR REPLACE INTO word (name, value) VALUES (?1, ?2)", [.text(name), .of(value)])
    }

    /// The word under a name.
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
