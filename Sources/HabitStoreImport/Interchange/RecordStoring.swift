@_spi(Engines) import HabitStore

/// Stores encoded records through the models of a schema, so that all rules for an app's records apply.
enum RecordStoring {
    /// Throws unless each entity has a Swift type; without one, a model only knows a record's identifier.
    static func requireTypes(_ schema: Schema) throws {
        for entity in schema.entities where entity.attributes.count > 1 {
            // Without types, every attribute has the identifier's key path.
            guard entity.attributes[1].keyPath == entity.attributes[0].keyPath else { continue }
            throw HabitStoreError(
                .unsupported,
                "the store's schema has no Swift types in this program; import into a new store",
                at: .init(entity: entity.name)
            )
        }
    }

    static func save(
        _ record: EncodedRecord,
        of entity: EntityDescription,
        _ transaction: any WriteTransaction,
        _ place: String,
        _ path: String
    ) throws {
        do {
            try save(entity.modelType, record, entity.layout, transaction)
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                "\(place): \(error.message); a new store (--into) takes everything unchanged",
                at: .init(
                    path: path,
                    entity: error.location.entity,
                    attribute: error.location.attribute,
                    id: error.location.id
                ),
                underlying: error
            )
        }
    }

    private static func save<M: PersistentModel>(
        _ type: M.Type,
        _ record: EncodedRecord,
        _ layout: RecordLayout,
        _ transaction: any WriteTransaction
    ) throws {
        let model = try record.withView(layout) { view in
            var reader = view.reader
            return try M(row: &reader)
        }
        // Without Swift types, a schema's model only knows its identifier.
        try transaction.save(model)
    }
}
