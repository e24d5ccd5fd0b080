/// A store in a file, of an engine that can open it.
@_spi(Engines) public protocol FileBackedStore: EngineBackedStore {
    /// Opens a store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file, which is untouched then.
    init(path: String, schema: Schema, access: StoreAccess) throws

    /// What the store in a file says of itself, whatever its schema. Nothing is written.
    ///
    /// - Throws: as opening does, but for the schema.
    static func outline(ofStoreAt path: String) throws -> StoreOutline
}
