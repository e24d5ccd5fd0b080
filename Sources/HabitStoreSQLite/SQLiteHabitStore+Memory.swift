extension SQLiteHabitStore {
    /// Bounds the memory that SQLite takes for all connections of this process: once they hold so much, each reuses pages of
    /// its cache that it does not need at the moment instead of taking more memory. Nothing fails for want of it: what a
    /// statement needs at the least it gets.
    ///
    /// It is SQLite's soft heap limit (https://www.sqlite.org/c3ref/hard_heap_limit64.html). It holds for whatever else the
    /// process does with SQLite too; a lower limit that the app has set itself stays.
    public static func limitCaches(toBytes bytes: Int) { SQLiteMemory.limit(toBytes: bytes) }

    /// How much memory SQLite holds for all connections of this process, in bytes.
    public static var memoryBytes: Int { SQLiteMemory.bytes }
}
