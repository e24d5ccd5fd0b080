@_spi(Engines) import HabitStore

/// The engine of ``RescuedLMDBStore``: one snapshot of a file, read into memory without liblmdb.
@_spi(Engines) public final class RescuedLMDBEngine: StorageEngine {
    /// How often a copy is restarted because of commits.
    private static let maximumCopyAttempts = 10

    /// The path of the file.
    public let path: String?
    private let file: String
    private let memory: InMemoryEngine

    init(path: String, schema: Schema) throws {
        self.path = path
        file = path
        let contents = try LMDBUnlockedReading.run(path: path) { source, header in
            try LMDBRescueReader(source, header).contents(schema)
        }
        memory = InMemoryEngine(schema: schema, contents: contents)
    }

    /// Runs `body` on the snapshot in memory.
    public func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { try memory.read(body) }

    /// Always throws: without liblmdb the file is read-only.
    public func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { throw unwritable() }

    /// Always throws: without liblmdb the file is read-only.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: InMemoryTransaction, _ reshaped: (Set<String>) throws -> InMemoryTransaction) throws -> R
    ) throws -> R { throw unwritable() }

    private func unwritable() -> HabitStoreError {
        LMDBError.error(
            .engineUnavailable,
            "the store was opened without liblmdb, which refuses its file, and cannot be written to; copy it into another store",
            path: file
        )
    }

    /// Checks the structure of the whole file in its current state. Records and history were checked when they were read.
    ///
    /// Indexes are checked as trees, but not against the records: this engine does not read through them.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        // The memory engine also detects a closed store.
        try memory.read { _ in }
        return try LMDBUnlockedReading.run(path: file) { source, header in
            try LMDBFileWalker(source: source, header: header).walkFile().map(StoreFinding.init)
        }
    }

    /// Writes the file's newest snapshot to an unused path.
    public func backup(to path: String) throws {
        try memory.read { _ in }
        try LMDBDraft.write(path, during: "making the copy") { descriptor in
            for _ in 0..<Self.maximumCopyAttempts {
                let isWhole = try LMDBUnlockedReading.run(path: file) { source, header in
                    try LMDBSnapshotCopy.write(source, transaction: header.current.transaction, to: descriptor)
                }
                if isWhole { return }
            }
            throw LMDBError.error(.busy, "the file was written to while it was copied; try again", path: file)
        }
    }

    /// Releases the snapshot.
    public func close() { memory.close() }
}
