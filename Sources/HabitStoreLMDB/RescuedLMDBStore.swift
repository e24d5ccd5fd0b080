@_spi(Engines) import HabitStore

/// A store in an LMDB 0.9 file, read without liblmdb: on a machine whose library rejects the file, as LMDB 1.0 does, its contents
/// can still be read, compared and copied into another store.
///
/// It has the newest snapshot of the file as of its opening, all in memory: records, history and digests, in proportion to the
/// store. It does not see later writes of other processes. Queries visit every record. Every write throws
/// ``HabitStore/HabitStoreError/Code/engineUnavailable``.
@_spi(Engines) public final class RescuedLMDBStore: EngineBackedStore {
    /// The store's semantics on top of the engine.
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

    /// The outline of the store in a file, whatever its schema.
    public static func outline(rescuing path: String) throws -> StoreOutline {
        let schema = Schema([])
        let contents = try LMDBUnlockedReading.run(path: path) { source, header in
            try LMDBRescueReader(source, header).contents(schema, isOutline: true)
        }
        return try InMemoryEngine(schema: schema, contents: contents).read { try StoreOutline($0, path: path) }
    }
}
