internal import CSQLite
import Synchronization

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The memory that SQLite uses for all connections of this process.
enum SQLiteMemory {
    /// The last limit that was set here, which a new one may replace, unlike the app's own.
    private static let limit = Mutex<Int64>(0)

    /// Sets the soft heap limit, unless the app has set a lower one.
    static func limit(toBytes bytes: Int) {
        limit.withLock { limit in
            let present = sqlite3_soft_heap_limit64(-1)
            let wanted = Int64(max(1, bytes))
            guard present <= 0 || present == limit || present > wanted else { return }
            sqlite3_soft_heap_limit64(wanted)
            limit = wanted
        }
    }

    static var bytes: Int { Int(sqlite3_memory_used()) }
}
