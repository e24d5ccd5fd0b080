/// How the records of an entity are made from those of an older schema version.
struct EntityMapping {
    /// Where an attribute's value comes from.
    enum Source: Equatable {
        /// From an attribute of the old record; `fallback` stands for nil where that is no longer allowed.
        case copy(position: Int, fallback: Value?)
        /// It is new.
        case constant(Value)

        /// The position in the old record that the value is from; nil for a new one.
        var copiedPosition: Int? {
            switch self {
            case .copy(let position, _): position
            case .constant: nil
            }
        }
    }

    /// The entity's position in the new schema.
    let target: Int
    /// The entity's position in the old schema; nil for a new entity.
    let source: Int?
    /// For each attribute of the new record.
    let attributes: [Source]
    /// Whether the records have to be rewritten.
    let isRewritten: Bool
    /// The attributes that may no longer be nil.
    private let required: [Int]
    private let description: EntityDescription

    init(
        target: Int,
        source: Int?,
        attributes: [Source],
        isRewritten: Bool,
        description: EntityDescription
    ) {
        (self.target, self.source, self.attributes) = (target, source, attributes)
        (self.isRewritten, self.description) = (isRewritten, description)
        required = description.attributes.indices.filter { position in
            !description.attributes[position].isOptional && description.attributes[position].kind != .links
        }
    }

    /// The new record.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` where a value is nil that may not be, and there is no default.
    func record(_ old: EncodedRecord, _ layout: RecordLayout) throws -> EncodedRecord {
        let before = try old.values(layout)
        let values = attributes.map { source in
            switch source {
            case .constant(let value): return value
            case .copy(let position, let fallback):
                return before[position].isNull ? fallback ?? .null : before[position]
            }
        }
        for position in required where values[position].isNull {
            let attribute = description.attributes[position].name
            guard case .uuid(let id) = values[0] else { continue }
            throw HabitStoreError(
                .invalidValue,
                "\(description.name).\(attribute) of the record \(id.uuidString) is nil, which the new schema version does not "
                    + "allow; declare a default",
                at: .init(entity: description.name, attribute: attribute, id: id)
            )
        }
        return try EncodedRecord(values, layout: description.layout)
    }
}
