internal import CSQLite
import Synchronization

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteHabitStore {
    /// The limit that was set here, which another one replaces; the app's own stays.
    private static let limit = Mutex<Int64>(0)

    /// Bounds the memory that SQLite takes for all connections of this process: once they hold so much, each reuses pages of
    /// its cache that it does not need at the moment instead of taking more memory. Nothing fails for want of it: what a
    /// statement needs at the least it gets.
    ///
    /// It is SQLite's soft heap limit (https://www.sqlite.org/c3ref/hard_heap_limit64.html). It holds for whatever else the
    /// process does with SQLite too; a lower limit that the app has set itself stays.
    public static func limitCaches(toBytes bytes: Int) {
        limit.withLock { limit in
            let present = sqlite3_soft_heap_limit64(-1)
            let wanted = Int64(max(1, bytes))
            guard present <= 0 || present == limit || present > wanted else { return }
            sqlite3_soft_heap_limit64(wanted)
            limit = wanted
        }
    }

    /// How much memory SQLite holds for all connections of this process, in bytes.
    public static var memoryBytes: Int { Int(sqlite3_memory_used()) }
}
