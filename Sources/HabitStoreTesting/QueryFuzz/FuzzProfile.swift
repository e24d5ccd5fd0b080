import Foundation
@_spi(Engines) import HabitStore

/// The generator's knowledge of some data: the types of attributes, values that occur, and how many records are related.
struct FuzzProfile: Sendable {
    struct Attribute: Sendable {
        let property: FuzzProperty
        let type: FuzzType
        /// Values that occur.
        let samples: [Value]
    }

    struct Relationship: Sendable {
        let property: FuzzProperty
        let type: FuzzType
        /// The average number of related records.
        let breadth: Double
    }

    let schema: Schema
    let counts: [Int]
    let attributes: [[Attribute]]
    let toOne: [[Relationship]]
    let toMany: [[Relationship]]

    private static let sampleCount = 64

    init(_ data: FuzzData) {
        let schema = data.schema
        self.schema = schema
        counts = data.records.map(\.count)
        attributes = schema.entities.enumerated().map { entity, description in
            description.attributes.enumerated().compactMap { position, attribute in
                guard let type = FuzzType(attribute) else { return nil }
                let step = max(1, data.records[entity].count / Self.sampleCount)
                let samples = stride(from: 0, to: data.records[entity].count, by: step)
                    .map { data.records[entity][$0].values[position] }
                return Attribute(
                    property: .init(entity: entity, position: position),
                    type: type,
                    samples: samples.filter { !$0.isNull }
                )
            }
        }
        var toOne: [[Relationship]] = []
        var toMany: [[Relationship]] = []
        for entity in schema.entities.indices {
            let relationships = schema.relationships[entity].enumerated().map { position, relationship in
                let links = relationship.isStored ? entity : relationship.destination
                let total = data.records[links].reduce(0) { $0 + $1.values[relationship.attribute].linkCount }
                return (
                    relationship.description.isToOne,
                    Relationship(
                        property: .init(entity: entity, position: position),
                        type: relationship.description.isToOne
                            ? .record(relationship.destination).optional : .records(relationship.destination),
                        breadth: Double(total) / Double(max(1, data.records[entity].count))
                    )
                )
            }
            toOne.append(relationships.filter(\.0).map(\.1))
            toMany.append(relationships.filter { !$0.0 }.map(\.1))
        }
        self.toOne = toOne
        self.toMany = toMany
    }

    /// The attribute of a property.
    func attribute(_ property: FuzzProperty) -> Attribute? {
        attributes[property.entity].first { $0.property == property }
    }

    /// About how many nodes a scan of an entity's records evaluates.
    func cost(_ condition: FuzzExpression, entity: Int) -> Double { Double(counts[entity]) * cost(condition) }

    private func cost(_ expression: FuzzExpression) -> Double {
        switch expression {
        case .relationship(_, let property, let type):
            return type.isOptional ? 3 : 3 + breadth(property)
        case .binding(.flatMap, _, let source, let body, _): return 1 + cost(source) + cost(body)
        case .binding(_, _, let source, let body, _):
            return 1 + cost(source) + breadth(source) * (1 + cost(body))
        default: return expression.children.reduce(1) { $0 + cost($1) }
        }
    }

    private func breadth(_ source: FuzzExpression) -> Double {
        switch source {
        case .relationship(_, let property, _): return breadth(property)
        case .binding(.filter, _, let source, _, _): return breadth(source)
        default: return 2
        }
    }

    private func breadth(_ property: FuzzProperty) -> Double {
        toMany[property.entity].first { $0.property == property }?.breadth ?? 1
    }
}

extension Value {
    /// The number of records that a reference or links point to.
    fileprivate var linkCount: Int {
        switch self {
        case .uuid: return 1
        case .links(let ids): return ids.count
        default: return 0
        }
    }
}
