/// Somebody who reads and commits from several threads at once, on several users' files.
protocol ThreadSide: Sendable {
    /// Reads one entry in a transaction of its own, and gives its checksum.
    func read(_ index: Int, user: Int, thread: Int) throws -> UInt64

    /// Inserts a spare entry in a durable transaction of its own, with history.
    func commit(_ number: Int, user: Int, thread: Int) throws

    func close()
}
