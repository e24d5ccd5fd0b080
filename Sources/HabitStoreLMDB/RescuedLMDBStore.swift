@_spi(Engines) import HabitStore

/// A store in an LMDB 0.9 file that is read without liblmdb: for a machine whose library refuses the file, as LMDB 1.0 does, so
/// that what is in it can still be read, compared and copied into another store.
///
/// It holds the newest snapshot of the file as of its opening, all of it in memory: records, history and digests, in proportion
/// to the store. Later writes of other processes are not seen. Queries look at every record. Each write is
/// ``HabitStore/HabitStoreError/Code/engineUnavailable``.
@_spi(Engines) public final class RescuedLMDBStore: EngineBackedStore {
    /// The engine with the semantics over it.
    public let core: EngineStore<RescuedLMDBEngine>

    /// Reads a store.
    ///
    /// - Throws: as opening an ``LMDBHabitStore`` read-only does; `corrupt` also for a damaged record, wherever it is; `busy` when
    ///   others write the file faster than it can be read.
    public init(rescuing path: String, schema: Schema) throws {
        try schema.validate()
        core = try EngineStore(
            RescuedLMDBEngine(path: path, schema: schema),
            schema: schema,
            isReadOnly: true
        )
    }

    /// What the store in a file says of itself, whatever its schema.
    public static func outline(rescuing path: String) throws -> StoreOutline {
        let schema = Schema([])
        let contents = try LMDBUnlockedReading.run(path: path) { source, header in
            try LMDBRescueReader(source, header).contents(schema, isOutline: true)
        }
        return try InMemoryEngine(schema: schema, contents: contents).read { try StoreOutline($0, path: path) }
    }
}
