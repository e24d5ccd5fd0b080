/// The sizes of a store's files in bytes; 0 for one that is not there.
struct SQLiteFileSizes: Sendable, Equatable {
    /// The database file.
    let mainBytes: Int64
    /// The write-ahead log.
    let logBytes: Int64
    /// The log's index, which is rebuilt at need.
    let sharedMemoryBytes: Int64
}
