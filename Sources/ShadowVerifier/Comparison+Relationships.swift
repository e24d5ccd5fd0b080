import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Compares every relationship in both directions: in each store the stored references against the answers from the other side, and both stores
    /// with each other.
    ///
    /// Memory grows with the records that are referred to, not with those that refer; if there are many, they are processed in parts.
    ///
    /// - Returns: the number of links compared.
    mutating func compareRelationships() throws -> Int {
        var links = 0
        for (position, entity) in schema.entities.enumerated() {
            for relationship in schema.relationships[position] where relationship.isStored {
                let reading = ReferenceReading(schema: schema, entity: position, relationship: relationship)
                let targets = RecordQuery(entity: schema.entities[relationship.destination].name)
                let most = max(try transactions.a.countRecords(targets), try transactions.b.countRecords(targets))
                for part in ReferenceReading.parts(of: most) {
                    let left = try reading.references(transactions.a, in: part)
                    let right = try reading.references(transactions.b, in: part)
                    links += left.count + right.count
                    compareLinks(left, right, entity, relationship)
                    try compareInverse(transactions.a, (stores.a.name, "A"), left, reading)
                    try compareInverse(transactions.b, (stores.b.name, "B"), right, reading)
                }
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
        let sides = [(left, right, stores.a.name, "A"), (right, left, stores.b.name, "B")]
        for (side, other, store, subject) in sides {
            let onlyHere = side.dangling.subtracting(other.dangling).sorted { $0.source.isBefore($1.source) }
            for link in onlyHere {
                note(
                    StoreDifference(
                        .dangling,
                        "\(entity.name) \(link.source.uuidString): \(name) dangles in \(store) only",
                        entity: entity.name,
                        id: link.source,
                        attribute: name,
                        subject: subject
                    ),
                    observed: {
                        .identifiers(
                            RecordedIdentifiers("dangling in A", left.dangling(from: link.source)),
                            RecordedIdentifiers("dangling in B", right.dangling(from: link.source))
                        )
                    }
                )
            }
            for link in side.repeated {
                note(
                    StoreDifference(
                        .duplicateLink,
                        "\(entity.name) \(link.source.uuidString): \(name) holds a link twice in \(store)",
                        entity: entity.name,
                        id: link.source,
                        attribute: name,
                        subject: subject
                    ),
                    observed: {
                        let repeated = side.repeated.filter { $0.source == link.source }.map(\.target)
                        return .identifiers(
                            RecordedIdentifiers("held again in \(subject)", repeated),
                            RecordedIdentifiers("allowed to be", [])
                        )
                    }
                )
            }
        }
    }

    /// Asks the store for each target's sources by the reference, which it answers from its index.
    private mutating func compareInverse(
        _ transaction: any ReadTransaction,
        _ store: (name: String, letter: String),
        _ references: References,
        _ reading: ReferenceReading
    ) throws {
        let (entity, relationship) = (schema.entities[reading.entity], reading.relationship)
        let attribute = entity.attributes[relationship.attribute].name
        for (target, stored) in references.sources.sorted(by: { $0.key.isBefore($1.key) }) {
            var found = RecordDigest()
            try transaction.enumerateRecords(reading.query(of: target)) {
                found += RecordDigest(of: $0.id)
                return true
            }
            guard found != stored else { continue }
            note(
                StoreDifference(
                    .inverse,
                    "\(schema.entities[relationship.destination].name) \(target.uuidString) has \(stored.count) records "
                        + "by \(entity.name).\(attribute), but \(store.name) finds \(found.count) from the other side"
                        + (found.count == stored.count ? ", which are others" : ""),
                    entity: schema.entities[relationship.destination].name,
                    id: target,
                    attribute: relationship.otherSide(of: entity),
                    subject: store.letter
                )
            )
        }
    }
}

extension Schema.Relationship {
    /// What its other side is called: there the record is that a difference between the two is about.
    func otherSide(of entity: EntityDescription) -> String {
        description.inverse ?? "\(entity.name).\(description.name)"
    }
}
