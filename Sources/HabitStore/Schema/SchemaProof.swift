import Foundation

/// Proves that a model's code follows its declaration: reads a record of known values through the model, and compares
/// what its key paths give and what it writes with those values, attribute by attribute, with and without nils.
enum SchemaProof {
    static func run(_ entities: [EntityDescription]) throws(HabitStoreError) {
        var names: Set<String> = []
        for entity in entities {
            guard names.insert(entity.name.lowercased()).inserted else {
                throw HabitStoreError(.schemaMismatch, "two entities are named \(entity.name)")
            }
            guard let first = entity.attributes.first, first.name == "id", first.kind == .uuid, !first.isOptional else {
                throw HabitStoreError(.schemaMismatch, "the first attribute of \(entity.name) must be .id(\\.id)")
            }
            for index in entity.indexes {
                for name in index.attributes where entity.position(of: name) == nil {
                    throw HabitStoreError(.schemaMismatch, "an index of \(entity.name) names \(name), which it lacks")
                }
            }
            for attribute in entity.attributes where attribute.hasInvalidDefault {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the default of \(entity.name).\(attribute.name) is no value that a store can keep",
                    at: .init(entity: entity.name, attribute: attribute.name)
                )
            }
            for attribute in entity.attributes
            where !entity.isUntyped && !attribute.isOptional && attribute.probe(0).isNull {
                throw HabitStoreError(
                    .schemaMismatch,
                    "no sample can be made up for \(entity.name).\(attribute.name); give it a default, or let its type be "
                        + "JSONAttributeProbing",
                    at: .init(entity: entity.name, attribute: attribute.name)
                )
            }
            // Without a Swift type there is no code that could differ from the declaration.
            if entity.isUntyped { continue }
            try prove(entity.modelType, entity, withNulls: false) { $0 }
            try prove(entity.modelType, entity, withNulls: true) { $0 }
            // A truth value or an enum has few samples; two positions differ in some bit, so some round tells them apart.
            for bit in 0..<(Int.bitWidth - entity.attributes.count.leadingZeroBitCount) {
                try prove(entity.modelType, entity, withNulls: false) { ($0 >> bit) & 1 }
            }
        }
    }

    private static func prove<M: PersistentModel>(
        _ type: M.Type,
        _ entity: EntityDescription,
        withNulls: Bool,
        sample: (Int) -> Int
    ) throws(HabitStoreError) {
        let values = entity.attributes.enumerated().map { position, attribute in
            withNulls && attribute.isOptional ? Value.null : attribute.probe(sample(position))
        }
        do {
            let record = try EncodedRecord(values, layout: entity.layout)
            let model = try record.withView(entity.layout) { view in
                var reader = view.reader
                return try M(row: &reader)
            }
            for (position, attribute) in entity.attributes.enumerated()
            where try attribute.extract(model) != values[position] {
                throw HabitStoreError(
                    .schemaMismatch,
                    "\(entity.name).init(row:) does not read \(attribute.name) at its declared position"
                )
            }
            var writer = AttributeWriter(layout: entity.layout)
            try model.write(to: &writer)
            guard try writer.finish({ EncodedRecord(copying: $0) }) == record else {
                throw HabitStoreError(.schemaMismatch, "\(entity.name).write(to:) does not follow its declaration")
            }
        } catch {
            throw HabitStoreError(
                .schemaMismatch,
                "the model \(entity.name) does not follow its declaration: \(error)",
                at: .init(entity: entity.name),
                underlying: error
            )
        }
    }
}
