/// The sizes of a store's files in bytes; 0 for a missing file.
struct SQLiteFileSizes: Sendable, Equatable {
    /// The database file.
    let mainBytes: Int64
    /// The write-ahead log.
    let logBytes: Int64
    /// The index of the log, which SQLite rebuilds when needed.
    let sharedMemoryBytes: Int64
}
