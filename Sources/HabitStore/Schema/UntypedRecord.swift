import Foundation

/// A placeholder for the Swift type of an entity that has none in this program. It cannot be fetched or stored.
struct UntypedRecord: PersistentModel {
    let id: UUID

    static let entity = EntityDescription(UntypedRecord.self, attributes: [.id(\UntypedRecord.id)])

    init(row: inout AttributeReader) throws { id = try row.nextUUID() }

    func write(to row: inout AttributeWriter) throws { row.append(id) }
}

extension EntityDescription {
    /// Whether it has no Swift type in this program.
    var isUntyped: Bool { modelType == UntypedRecord.self }

    /// The declaration of a shape, without a Swift type.
    @_spi(Engines) public init(_ shape: EntityShape) {
        self.init(
            UntypedRecord.self,
            name: shape.name,
            attributes: shape.attributes.map(AttributeDescription.init),
            relationships: shape.relationships.map(RelationshipDescription.init),
            indexes: shape.indexes.map { shape in
                let index = IndexDescription(attributes: shape.attributes)
                return shape.isClustering ? index.clustering() : index
            },
            uniqueness: shape.uniqueness.map(UniquenessDescription.init)
        )
    }
}

extension AttributeDescription {
    fileprivate init(_ shape: AttributeShape) {
        self.init(
            name: shape.name,
            kind: shape.kind,
            isOptional: shape.isOptional,
            isUnique: shape.isUnique,
            preservesValueOnDeletion: shape.preservesValueOnDeletion,
            defaultValue: shape.defaultValue,
            keyPath: \UntypedRecord.id,
            probe: { _ in .null },
            extract: { _ in
                throw HabitStoreError(.unknownEntity, "the record's entity has no Swift type in this program")
            }
        )
    }
}

extension RelationshipDescription {
    fileprivate init(_ shape: RelationshipShape) {
        self.init(
            name: shape.name,
            kind: shape.descriptionKind,
            destination: shape.destination,
            inverse: shape.inverse,
            deleteRule: shape.deleteRule,
            keyPath: \UntypedRecord.id
        )
    }
}
