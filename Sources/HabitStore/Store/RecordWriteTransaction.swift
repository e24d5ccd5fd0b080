import Foundation

/// A write transaction that also takes records without their Swift type.
package protocol RecordWriteTransaction: WriteTransaction {
    /// Stores a new record; as `insert(_:)` of a model does.
    func insert(entity: Int, _ record: EncodedRecord) throws

    /// Deletes the record of an identifier; as `delete(_:id:)` does.
    func delete(entity: Int, id: UUID) throws -> Bool
}

extension Schema {
    /// A record that can be stored beside all others, and deleted again without a trace: of an entity whose records need no
    /// other one.
    ///
    /// - Returns: nil when each entity's records need others.
    package func sampleRecord() throws -> (entity: Int, id: UUID, record: EncodedRecord)? {
        for (position, entity) in entities.enumerated() {
            let needed = relationships[position].filter { relationship in
                relationship.isStored && relationship.description.isToOne
                    && !entity.attributes[relationship.attribute].isOptional
            }
            guard needed.isEmpty else { continue }
            let id = UUID()
            let values = entity.attributes.enumerated().map { place, attribute -> Value in
                if place == 0 { return .uuid(id) }
                if attribute.isOptional { return .null }
                switch attribute.kind {
                case .string where attribute.isUnique: return .string(id.uuidString)
                case .uuid where attribute.isUnique: return .uuid(id)
                case .links: return .links([])
                default: return attribute.probe(place)
                }
            }
            return (position, id, try EncodedRecord(values, layout: entity.layout))
        }
        return nil
    }
}
