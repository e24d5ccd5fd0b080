/// A side that reads and commits from several threads at the same time, on several users' files.
protocol ThreadSide: Sendable {
    /// Reads one entry in a separate transaction, and returns its checksum.
    func read(_ index: Int, user: Int, thread: Int) throws -> UInt64

    /// Inserts a spare entry in a separate durable transaction, with history.
    func commit(_ number: Int, user: Int, thread: Int) throws

    func close()
}
