@_spi(Engines) import HabitStore

/// What a store has to be that a Core Data file is brought into.
public enum CoreDataTarget {
    /// The schema that the target of a file is opened with.
    ///
    /// - Parameter outline: what an existing target says of itself; nil for a new one.
    /// - Throws: ``HabitStoreError/Code/notAStore`` when the target does not come from a Core Data file.
    public static func schema(for file: CoreDataFile, outline: StoreOutline? = nil) throws -> Schema {
        if let outline {
            guard let stored = outline.schema,
                stored.entities.contains(where: { $0.name == DerivedSchema.sourceEntity })
            else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store was not made from a Core Data file; name a new one, or give a mapping to its schema"
                )
            }
            return Schema(shapes: stored.entities, version: stored.version)
        }
        return try DerivedSchema(file, identities: try IdentityRule.choose(file)).plan().schema
    }

    /// What a target knows of a file; nil when it knows nothing of it.
    static func position(in store: any ReplicableStore, of file: CoreDataFile) throws -> SourcePosition? {
        guard let entity = try? store.schema.position(ofEntity: DerivedSchema.sourceEntity) else { return nil }
        let id = SourcePosition(storeID: file.metadata.storeID, model: "", identities: [:], transaction: nil).id
        let layout = store.schema.entities[entity].layout
        return try store.replicaRead { replica in
            try replica.record(entity: entity, id: id).map { try SourcePosition($0.values(layout)) }
        }
    }
}
