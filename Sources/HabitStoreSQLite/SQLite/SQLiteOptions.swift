/// The limits and sizes of an open store. Every wait and every pool has one.
struct SQLiteOptions: Sendable, Equatable {
    /// How long a transaction waits for a lock, of this process or of another, before it throws `.busy`.
    var busyLimitSeconds: Double = 5
    /// How long one step of a statement, from a row to the next, may be at work before it is ended with `.limitExceeded`. What
    /// sound stores need is far below; a damaged file can lead round in circles.
    var stepLimitSeconds: Double = 120
    /// The log's length in pages from which on a commit is followed by a checkpoint.
    var checkpointPages: Int = 1_000
    /// The page cache of each connection. An upper bound; small stores use less.
    var cacheSizeBytes: Int = 16 << 20
    /// How much of the file is read through a memory map; 0 for none.
    ///
    /// Hazard: with a map, a file that another process truncates, or a disk that fails to read, ends this process by
    /// SIGBUS.
    var mapSizeBytes: Int = 0
    /// Read transactions of a process at one time; more of them wait. Each has a connection, and so two descriptors.
    var maximumReaders: Int = 64
    /// Reader connections that are kept open while they are not used.
    var idleReaders: Int = 4
    /// Prepared statements that are kept for each connection.
    var cachedStatements: Int = 128
}
