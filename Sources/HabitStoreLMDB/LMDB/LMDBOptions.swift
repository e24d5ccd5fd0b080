/// How an environment is opened.
///
/// The first opening of a file in a process decides; a later one shares what is open (see ``LMDBEnvironment``).
struct LMDBOptions: Sendable {
    /// Only read. The lock file is still written, unless the disk is read-only.
    var isReadOnly = false
    /// Make the file where there is none. Without it a missing file is an error.
    var createsIfMissing = false
    /// The reserve: how far the file may grow before the map is enlarged, in bytes.
    ///
    /// It takes address space only, neither disk nor memory, and it grows by itself.
    var mapSizeBytes = Self.defaultMapSizeBytes
    /// How many named databases there may be.
    var maxDatabases = 32
    /// How many read transactions there may be at once, over all processes.
    var maxReaders = 254
    /// How long enlarging or reopening the map waits for running transactions, in seconds.
    var resizeWaitSeconds = 1.0
    /// How long a write waits for the other writers, of this process and of others, in seconds.
    ///
    /// Only a program that writes the file with liblmdb alone is waited for without limit: LMDB has no timed lock.
    var writerWaitSeconds = 60.0
    /// How many ended read transactions are kept for reuse. Each holds one of the ``maxReaders``.
    var readerPoolLimit = 8
    /// After how many write transactions the reader table is searched for readers that died.
    ///
    /// A dead reader keeps every page that was freed since from being used again: the file would grow for ever.
    var writesPerReaderCheck = 64

    /// 4 GiB where addresses have 64 bits.
    static let defaultMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 32 : 1 << 28
    /// The largest reserve: 4 TiB, well inside what 64-bit systems can map.
    static let largestMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 42 : 1 << 30

    /// The reserve as LMDB gets it: within the limits, and a multiple of every page size in use.
    var roundedMapSizeBytes: Int { Self.rounded(mapSizeBytes) }

    static func rounded(_ bytes: Int) -> Int {
        let granularity = 1 << 16
        let bounded = min(max(bytes, granularity), largestMapSizeBytes)
        return (bounded + granularity - 1) / granularity * granularity
    }
}
