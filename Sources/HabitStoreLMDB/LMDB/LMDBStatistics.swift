/// Figures of an environment.
struct LMDBStatistics: Equatable, Sendable {
    /// The size of a page.
    let pageSizeBytes: Int
    /// How far the file may grow before the map is enlarged.
    let mapSizeBytes: Int
    /// The pages that were ever used, free ones included: what the file needs on disk.
    let usedBytes: Int
    /// The number of the last committed write transaction.
    let lastTransaction: UInt64
    /// The reader slots, over all processes.
    let maxReaders: Int
}
