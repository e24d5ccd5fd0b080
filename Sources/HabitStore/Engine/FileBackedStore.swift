/// A store in a file, of an engine that can open it.
@_spi(Engines) public protocol FileBackedStore: EngineBackedStore {
    /// Opens a store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file, which is untouched then.
    init(path: String, schema: Schema, access: StoreAccess) throws

    /// The outline of the store in a file, whatever its schema. Nothing is written.
    ///
    /// - Throws: the errors of opening, except those about the schema.
    static func outline(ofStoreAt path: String) throws -> StoreOutline
}
