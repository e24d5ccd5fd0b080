@_spi(Engines) import HabitStore

extension Engines {
    /// The schema that the store's records have.
    ///
    /// - Parameter plan: has the schemas of stores of the first format, which contain a hash of each entity only.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the store contains no schema and is of no version of the plan; what is wrong with the file.
    public func storedSchema(
        of address: StoreAddress,
        plan: (any SchemaMigrationPlan.Type)?
    ) throws -> StoredSchema {
        let outline = try outline(address)
        if let schema = outline.schema { return schema }
        let known = plan?.schemas.first { $0.versionIdentifier == outline.version }
        guard let schema = known?.schema else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store does not contain its schema, and is of no version of the app's migration plan",
                at: .init(path: address.path)
            )
        }
        // Opening compares the hashes.
        try open(address, .readOnly, schema: schema).close()
        return StoredSchema(schema)
    }
}
