/// The limits and sizes of an open store. Every wait and every pool is limited.
struct SQLiteOptions: Sendable, Equatable {
    /// How long a transaction waits for a lock of this process or another before it throws `.busy`.
    var busyLimitSeconds: Double = 5
    /// How long a step of a statement, from one row to the next, may work before it fails with `.limitExceeded`. Intact stores need
    /// far less; a damaged file can lead SQLite in circles.
    var stepLimitSeconds: Double = 120
    /// The length of the log, in pages, at which a commit is followed by a checkpoint.
    var checkpointPages: Int = 1_000
    /// The page cache of each connection. This is an upper bound; small stores use less.
    var cacheSizeBytes: Int = 16 << 20
    /// How many bytes of the file are read through a memory map; 0 for none.
    ///
    /// Hazard: with a map, SIGBUS ends this process if another process truncates the file or the disk fails to read.
    var mapSizeBytes: Int = 0
    /// The maximum number of concurrent read transactions in a process; further ones wait. Each has a connection, and so two
    /// descriptors.
    var maximumReaders: Int = 64
    /// The number of unused reader connections that stay open.
    var idleReaders: Int = 4
    /// The number of prepared statements that each connection caches.
    var cachedStatements: Int = 128
}
