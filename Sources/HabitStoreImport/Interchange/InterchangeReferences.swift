import Foundation
@_spi(Engines) import HabitStore

/// Finds and removes references in records.
enum InterchangeReferences {
    /// A reference to another record.
    struct Target: Hashable {
        /// The index of the attribute with the reference.
        let attribute: Int
        /// The index of the destination entity.
        let entity: Int
        let id: UUID
    }

    /// Dangling references, by the identifier of the record that has them.
    typealias Cut = [UUID: [Target]]

    static func targets(of values: [Value], _ entity: Int, _ schema: Schema) -> [Target] {
        schema.relationships[entity].filter(\.isStored).flatMap { relationship -> [Target] in
            let ids: [UUID]
            switch values[relationship.attribute] {
            case .uuid(let id): ids = [id]
            case .links(let links): ids = links
            default: ids = []
            }
            return ids.map { Target(attribute: relationship.attribute, entity: relationship.destination, id: $0) }
        }
    }

    /// A record without its dangling references.
    static func cutting(_ cut: Cut, _ entity: Int, _ record: EncodedRecord, _ schema: Schema) throws -> EncodedRecord {
        guard !cut.isEmpty else { return record }
        let layout = schema.entities[entity].layout
        guard let targets = cut[try record.withView(layout) { try $0.identifier() }] else { return record }
        var values = try record.values(layout)
        for target in targets {
            if case .links(let ids) = values[target.attribute] {
                values[target.attribute] = .links(ids.filter { $0 != target.id })
            } else {
                guard schema.entities[entity].attributes[target.attribute].isOptional else {
                    throw HabitStoreError(
                        .danglingReference,
                        "a \(schema.entities[entity].name) must refer to a record, and the one that it refers to is "
                            + "neither in the export nor in the store",
                        at: .init(entity: schema.entities[entity].name)
                    )
                }
                values[target.attribute] = .null
            }
        }
        return try EncodedRecord(values, layout: layout)
    }
}
