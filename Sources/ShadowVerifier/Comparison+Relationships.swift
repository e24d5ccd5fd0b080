import Foundation
import HabitStore

extension Comparison {
    /// Compares every relationship in both directions: in each store the stored references against what the store
    /// finds from the other side, and both stores with one another.
    ///
    /// What is held in memory grows with the records that are referred to, not with those that refer.
    ///
    /// - Returns: the number of links compared.
    mutating func compareRelationships() throws -> Int {
        var links = 0
        for (position, entity) in schema.entities.enumerated() {
            for relationship in schema.relationships[position] where relationship.isStored {
                let reading = ReferenceReading(schema: schema, entity: position, relationship: relationship)
                let left = try reading.references(transactions.a)
                let right = try reading.references(transactions.b)
                links += left.count + right.count
                compareLinks(left, right, entity, relationship)
                try compareInverse(transactions.a, stores.a.name, left, entity, relationship)
                try compareInverse(transactions.b, stores.b.name, right, entity, relationship)
            }
        }
        return links
    }

    private mutating func compareLinks(
        _ left: References,
        _ right: References,
        _ entity: EntityDescription,
        _ relationship: Schema.Relationship
    ) {
        let name = relationship.description.name
        for (side, other, store) in [(left, right, stores.a.name), (right, left, stores.b.name)] {
            let onlyHere = side.dangling.subtracting(other.dangling).sorted { $0.source.isBefore($1.source) }
            for link in onlyHere {
                note(
                    StoreDifference(
                        .dangling,
                        "\(entity.name) \(link.source.uuidString): \(name) dangles in \(store) only",
                        entity: entity.name,
                        id: link.source,
                        attribute: name
                    )
                )
            }
            for link in side.repeated {
                note(
                    StoreDifference(
                        .duplicateLink,
                        "\(entity.name) \(link.source.uuidString): \(name) holds a link twice in \(store)",
                        entity: entity.name,
                        id: link.source,
                        attribute: name
                    )
                )
            }
        }
    }

    /// Asks the store for each target's sources by the reference, which it answers from its index.
    private mutating func compareInverse(
        _ transaction: any ReadTransaction,
        _ name: String,
        _ references: References,
        _ entity: EntityDescription,
        _ relationship: Schema.Relationship
    ) throws {
        let attribute = entity.attributes[relationship.attribute].name
        let reference = FilterExpression.attribute(AttributePath(attribute))
        for (target, stored) in references.sources.sorted(by: { $0.key.isBefore($1.key) }) {
            let filter: FilterExpression =
                relationship.description.isToOne
                ? .compare(.equal, reference, .literal(.uuid(target)))
                : .text(.contains, reference, .literal(.uuid(target)))
            var found = RecordDigest()
            try transaction.enumerateRecords(RecordQuery(entity: entity.name, filter: filter)) {
                found += RecordDigest(of: $0.id)
                return true
            }
            guard found != stored else { continue }
            note(
                StoreDifference(
                    .inverse,
                    "\(schema.entities[relationship.destination].name) \(target.uuidString) has \(stored.count) records "
                        + "by \(entity.name).\(attribute), but \(name) finds \(found.count) from the other side"
                        + (found.count == stored.count ? ", which are others" : ""),
                    entity: entity.name,
                    id: target,
                    attribute: relationship.description.name
                )
            )
        }
    }
}
