@_spi(Engines) import HabitStore

extension Engines {
    /// The schema that the store's records have, whichever it is. Stores of the first versions have written down a hash of
    /// each entity only: theirs is looked for among the versions of the habit schema.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when it is none of them; what is wrong with the file.
    public func storedSchema(of address: StoreAddress) throws -> StoredSchema {
        let outline = try outline(address)
        if let schema = outline.schema { return schema }
        let known = HabitMigrationPlan.schemas.first { $0.versionIdentifier == outline.version }
        guard let schema = known?.schema else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store has not written its schema down, and is of no version of the habit schema",
                at: .init(path: address.path)
            )
        }
        // The hashes are compared with the opening.
        try open(address, .readOnly, schema: schema).close()
        return StoredSchema(schema)
    }
}
