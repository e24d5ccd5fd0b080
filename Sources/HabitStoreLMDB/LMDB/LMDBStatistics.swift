/// Figures of an environment.
struct LMDBStatistics: Equatable, Sendable {
    /// The size of a page.
    let pageSizeBytes: Int
    /// How far the file may grow before the map is enlarged.
    let mapSizeBytes: Int
    /// All pages that were ever used, including free ones: the space that the file needs on disk.
    let usedBytes: Int
    /// The number of the last committed write transaction.
    let lastTransaction: UInt64
    /// The number of reader slots, over all processes.
    let maxReaders: Int
}
