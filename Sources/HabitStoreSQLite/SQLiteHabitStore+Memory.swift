extension SQLiteHabitStore {
    /// Bounds the memory that SQLite uses for all connections of this process. At the limit, each connection reuses cache pages
    /// that it does not currently need instead of allocating more. Nothing fails because of the limit: a statement gets the memory
    /// that it must have.
    ///
    /// This is SQLite's soft heap limit (https://www.sqlite.org/c3ref/hard_heap_limit64.html). It also applies to the process's
    /// other uses of SQLite; a lower limit set by the app remains in effect.
    public static func limitCaches(toBytes bytes: Int) { SQLiteMemory.limit(toBytes: bytes) }

    /// The memory that SQLite uses for all connections of this process, in bytes.
    public static var memoryBytes: Int { SQLiteMemory.bytes }
}
