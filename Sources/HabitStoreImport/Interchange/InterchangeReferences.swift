import Foundation
@_spi(Engines) import HabitStore

/// The references that records hold.
enum InterchangeReferences {
    /// What a record refers to.
    struct Target: Hashable {
        /// The position of the attribute that holds the reference.
        let attribute: Int
        /// The position of the entity that it leads to.
        let entity: Int
        let id: UUID
    }

    /// References that lead nowhere, by the identifier of the record that holds them.
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

    /// A record without the references that lead nowhere.
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
