@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker

/// A kind of work, which every side does with the same data and the same answer.
enum Work: String, CaseIterable, Codable {
    case bulkLoad, bulkLoadSorted
    case readsByIdentifier, ranges, scan, filter, count, commits, commitsWithHistory, openReadClose

    /// How often one round does it, with separate timing.
    var repetitions: Int {
        switch self {
        case .commits, .commitsWithHistory, .openReadClose: 200
        default: 1
        }
    }

    /// Whether it leaves the store unchanged.
    var isReading: Bool {
        switch self {
        case .bulkLoad, .bulkLoadSorted, .commits, .commitsWithHistory: false
        default: true
        }
    }

    func title(_ data: BenchData) -> String {
        switch self {
        case .bulkLoad: "bulk load, one transaction"
        case .bulkLoadSorted: "the same, C sorts too"
        case .readsByIdentifier: "\(data.shuffled.count.grouped) reads by id, one transaction"
        case .ranges: "\(data.ranges.count.grouped) date ranges of one habit"
        case .scan: "full scan, decoded"
        case .filter: "filter: note contains"
        case .count: "count: value above"
        case .commits: "durable commit of one entry, C without history"
        case .commitsWithHistory: "durable commit of one entry, C with history"
        case .openReadClose: "open, one read, close"
        }
    }

    /// The allowed multiple of the C program's time.
    func goal(_ engine: TableEngine) -> Double? {
        guard engine == .sqlite || engine == .lmdb else { return nil }
        switch self {
        case .commits: return 1.35
        case .commitsWithHistory: return 1.1
        case .openReadClose: return 1.5
        case .bulkLoadSorted: return nil
        default: return engine == .sqlite ? 1.25 : 1.4
        }
    }

    /// How many times faster than GRDB's Codable records it must be.
    var lead: Double? {
        switch self {
        case .bulkLoad: 2
        case .readsByIdentifier, .ranges, .scan, .filter, .count: 3
        default: nil
        }
    }
}

/// The engine of a row of the table.
enum TableEngine: String, Codable {
    case sqlite = "SQLite"
    case lmdb = "LMDB"
    case memory = "memory"
    /// The file of an app that has tables like those of GRDB's side.
    case mapped = "an app's file"

    /// Opens one of this package's stores on this engine; stores in memory ignore the path.
    func open(_ path: String, schema: Schema = HabitSchema.current) throws -> any EngineBackedStore {
        switch self {
        case .sqlite: try SQLiteHabitStore(path: path, schema: schema)
        case .lmdb: try LMDBHabitStore(path: path, schema: schema)
        case .memory: try InMemoryHabitStore(schema: schema)
        case .mapped: try AppFile.open(path, schema: schema)
        }
    }
}

extension Int {
    /// The number with a comma before each group of three digits.
    var grouped: String {
        var digits = String(self)
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
            place -= 3
        }
        return digits
    }
}
