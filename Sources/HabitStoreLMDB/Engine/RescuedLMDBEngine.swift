@_spi(Engines) import HabitStore

/// The engine of ``RescuedLMDBStore``: one snapshot of a file, read into memory without liblmdb.
@_spi(Engines) public final class RescuedLMDBEngine: StorageEngine {
    /// How often a copy is begun anew because of commits.
    private static let maximumCopyAttempts = 10

    /// The file.
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

    /// Runs `body` over what was read.
    public func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { try memory.read(body) }

    /// Not possible: without liblmdb the file is only read.
    public func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { throw unwritable() }

    /// Not possible: without liblmdb the file is only read.
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

    /// Checks the structure of the whole file, as it is now. Every record and the history were checked when they were read.
    ///
    /// Indexes are checked as trees, and not against the records: nothing is read by them here.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        // Through memory a closed store is found, too.
        try memory.read { _ in }
        return try LMDBUnlockedReading.run(path: file) { source, header in
            try LMDBFileWalker(source: source, header: header).walkFile().map(StoreFinding.init)
        }
    }

    /// Writes the file's newest snapshot to a path at which there is nothing yet.
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

    /// Forgets what was read.
    public func close() { memory.close() }
}
