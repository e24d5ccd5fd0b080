import Foundation
import HabitStore

extension Comparison {
    /// Compares every relationship in both directions: in each store the stored references against what the store
    /// finds from the other side, and both stores with one another.
    ///
    /// - Returns: the number of links compared.
    mutating func compareRelationships() throws -> Int {
        var links = 0
        for (position, entity) in schema.entities.enumerated() {
            for relationship in schema.relationships[position] where relationship.isStored {
                let left = try references(transactions.a, entity, relationship)
                let right = try references(transactions.b, entity, relationship)
                links += left.count + right.count
                try compareDangling(left, right, entity, relationship)
                try compareInverse(transactions.a, stores.a.name, left, entity, relationship)
                try compareInverse(transactions.b, stores.b.name, right, entity, relationship)
            }
        }
        return links
    }

    /// The stored references of a relationship in one store.
    private struct References {
        var sources: [UUID: [UUID]] = [:]
        var dangling: Set<Link> = []
        var repeated: [Link] = []
        var count = 0
    }

    private struct Link: Hashable {
        let source: UUID
        let target: UUID
    }

    private func references(
        _ transaction: any ReadTransaction,
        _ entity: EntityDescription,
        _ relationship: Schema.Relationship
    ) throws -> References {
        var result = References()
        try transaction.enumerateRecords(RecordQuery(entity: entity.name)) { record in
            let targets: [UUID]
            switch record.values[relationship.attribute] {
            case .uuid(let target): targets = [target]
            case .links(let links): targets = links
            default: return true
            }
            var seen: Set<UUID> = []
            for target in targets {
                result.count += 1
                if seen.insert(target).inserted {
                    result.sources[target, default: []].append(record.id)
                } else {
                    result.repeated.append(Link(source: record.id, target: target))
                }
            }
            return true
        }
        let destination = schema.entities[relationship.destination].name
        let identifiers = try existing(transaction, destination)
        for (target, sources) in result.sources where !identifiers.contains(target) {
            for source in sources { result.dangling.insert(Link(source: source, target: target)) }
        }
        return result
    }

    private func existing(_ transaction: any ReadTransaction, _ entity: String) throws -> Set<UUID> {
        var identifiers: Set<UUID> = []
        try transaction.enumerateRecords(RecordQuery(entity: entity)) {
            identifiers.insert($0.id)
            return true
        }
        return identifiers
    }

    private mutating func compareDangling(
        _ left: References,
        _ right: References,
        _ entity: EntityDescription,
        _ relationship: Schema.Relationship
    ) throws {
        let sides = [(left, right, stores.a.name), (right, left, stores.b.name)]
        for (side, other, name) in sides {
            let onlyHere = side.dangling.subtracting(other.dangling).sorted { $0.source.isBefore($1.source) }
            for link in onlyHere {
                note(
                    StoreDifference(
                        .dangling,
                        "\(entity.name) \(link.source.uuidString): \(relationship.description.name) dangles in \(name) only",
                        entity: entity.name,
                        id: link.source,
                        attribute: relationship.description.name
                    )
                )
            }
            for link in side.repeated {
                note(
                    StoreDifference(
                        .duplicateLink,
                        "\(entity.name) \(link.source.uuidString): \(relationship.description.name) holds a link twice "
                            + "in \(name)",
                        entity: entity.name,
                        id: link.source,
                        attribute: relationship.description.name
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
        for target in references.sources.keys.sorted(by: { $0.isBefore($1) }) {
            let stored = (references.sources[target] ?? []).sorted { $0.isBefore($1) }
            let reference = FilterExpression.attribute(AttributePath(attribute))
            let filter: FilterExpression =
                relationship.description.isToOne
                ? .compare(.equal, reference, .literal(.uuid(target)))
                : .text(.contains, reference, .literal(.uuid(target)))
            let found = try transaction.records(RecordQuery(entity: entity.name, filter: filter)).map(\.id)
            guard found != stored else { continue }
            note(
                StoreDifference(
                    .inverse,
                    "\(schema.entities[relationship.destination].name) \(target.uuidString) has \(stored.count) records "
                        + "by \(entity.name).\(attribute), but \(name) finds \(found.count) from the other side",
                    entity: entity.name,
                    id: target,
                    attribute: relationship.description.name
                )
            )
        }
    }
}
