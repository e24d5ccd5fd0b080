@_spi(Engines) import HabitStore

/// Prepares a store to be the target of a Core Data import.
public enum CoreDataTarget {
    /// The schema to open the target of a file with.
    ///
    /// - Parameter outline: the outline of an existing target; nil for a new one.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the target was not made from a Core Data file.
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

    /// The target's position in a file; nil if the file was never imported.
    static func position(in store: any ReplicableStore, of file: CoreDataFile) throws -> SourcePosition? {
        guard let entity = try? store.schema.position(ofEntity: DerivedSchema.sourceEntity) else { return nil }
        let id = SourcePosition(storeID: file.metadata.storeID, model: "", identities: [:], transaction: nil).id
        let layout = store.schema.entities[entity].layout
        return try store.replicaRead { replica in
            try replica.record(entity: entity, id: id).map { try SourcePosition($0.values(layout)) }
        }
    }
}
