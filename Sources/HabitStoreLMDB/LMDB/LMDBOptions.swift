/// How to open an environment.
///
/// The first opening of a file in a process decides; later ones share it (see ``LMDBEnvironment``).
struct LMDBOptions: Sendable {
    /// Whether to open the file read-only. The lock file is still written, unless the disk is read-only.
    var isReadOnly = false
    /// Whether to create a missing file. Otherwise it is an error.
    var createsIfMissing = false
    /// The reserve: how far the file may grow before the map is enlarged, in bytes.
    ///
    /// It takes only address space, neither disk nor memory, and grows automatically.
    var mapSizeBytes = Self.defaultMapSizeBytes
    /// The maximum number of named databases.
    var maxDatabases = 32
    /// The maximum number of concurrent read transactions, over all processes.
    var maxReaders = 254
    /// How long enlarging or reopening the map waits for transactions in progress, in seconds.
    var resizeWaitSeconds = 1.0
    /// How long a write waits for other writers of this process and of others, in seconds.
    ///
    /// There is no limit when waiting for a program that writes the file through liblmdb alone: LMDB has no timed lock.
    var writerWaitSeconds = 60.0
    /// How many ended read transactions are kept for reuse. Each takes one of the ``maxReaders``.
    var readerPoolLimit = 8
    /// The number of write transactions after which the reader table is searched for dead readers.
    ///
    /// A dead reader prevents the reuse of every page that was freed since: the file would grow forever.
    var writesPerReaderCheck = 64

    /// 4 GiB on 64-bit systems.
    static let defaultMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 32 : 1 << 28
    /// The largest reserve: 4 TiB, well within what 64-bit systems can map.
    static let largestMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 42 : 1 << 30

    /// The reserve that LMDB gets: within the limits, and a multiple of every page size in use.
    var roundedMapSizeBytes: Int { Self.rounded(mapSizeBytes) }

    static func rounded(_ bytes: Int) -> Int {
        let granularity = 1 << 16
        let bounded = min(max(bytes, granularity), largestMapSizeBytes)
        return (bounded + granularity - 1) / granularity * granularity
    }
}
