extension FilterExpression {
    /// The expression with names, from the form bound to a schema.
    ///
    /// - Parameters:
    ///   - bound: the bound expression.
    ///   - schema: the schema that it was bound to.
    ///   - entity: the entity of the records asked for.
    @_spi(Engines) public init(_ bound: BoundExpression, schema: Schema, entity: Int) {
        self = Unbinder(schema: schema).unbind(bound, [0: entity])
    }
}

/// Gives names back; the environment says which entity each variable's records are of.
private struct Unbinder {
    let schema: Schema
    typealias Environment = [Int: Int]

    func unbind(_ expression: BoundExpression, _ environment: Environment) -> FilterExpression {
        func inner(_ expression: BoundExpression) -> FilterExpression { unbind(expression, environment) }
        switch expression {
        case .literal(let value): return .literal(value)
        case .attribute(let path, let position, _, _):
            let entity = schema.entities[entity(of: path, environment)]
            return .attribute(AttributePath(entity.attributes[position].name, of: record(path, environment)))
        case .exists(let path): return .exists(record(path, environment))
        case .not(let part): return .not(inner(part))
        case .and(let parts): return .and(parts.map(inner))
        case .or(let parts): return .or(parts.map(inner))
        case .compare(let comparison, let left, let right): return .compare(comparison, inner(left), inner(right))
        case .isIn(let member, let values): return .isIn(inner(member), values)
        case .text(let test, let text, let part): return .text(test, inner(text), inner(part))
        case .some(let collection, let condition):
            return .some(
                path(collection, environment),
                variable: collection.variable,
                members(collection, condition, environment)
            )
        case .every(let collection, let condition):
            return .every(
                path(collection, environment),
                variable: collection.variable,
                members(collection, condition, environment)
            )
        case .count(let collection, let condition):
            return .count(
                path(collection, environment),
                variable: collection.variable,
                members(collection, condition, environment)
            )
        case .length(let part): return .length(inner(part))
        case .least(let part): return .least(inner(part))
        case .greatest(let part): return .greatest(inner(part))
        case .caseInsensitiveOrder(let left, let right): return .caseInsensitiveOrder(inner(left), inner(right))
        case .coalesce(let first, let second): return .coalesce(inner(first), inner(second))
        case .conditional(let test, let first, let second):
            return .conditional(inner(test), inner(first), inner(second))
        case .arithmetic(let operation, let left, let right): return .arithmetic(operation, inner(left), inner(right))
        }
    }

    /// The condition on a collection's members.
    private func members(
        _ collection: BoundCollection,
        _ condition: BoundExpression,
        _ environment: Environment
    ) -> FilterExpression {
        var environment = environment
        environment[collection.variable] = collection.destination
        return unbind(condition, environment)
    }

    private func entity(of path: BoundPath, _ environment: Environment) -> Int {
        path.hops.last?.destination ?? environment[path.variable] ?? 0
    }

    private func record(_ path: BoundPath, _ environment: Environment) -> RecordPath {
        var entity = environment[path.variable] ?? 0
        var hops: [String] = []
        for hop in path.hops {
            hops.append(relationship(of: entity, to: hop.destination) { $0.isStored && $0.attribute == hop.attribute })
            entity = hop.destination
        }
        return RecordPath(variable: path.variable, hops: hops)
    }

    private func path(_ collection: BoundCollection, _ environment: Environment) -> CollectionPath {
        let owner = entity(of: collection.path, environment)
        let name = relationship(of: owner, to: collection.destination) { candidate in
            switch (collection.storage, candidate.description.kind) {
            case (.referring(let attribute), .toMany), (.linked(let attribute), .manyToManyOwner),
                (.linking(let attribute), .manyToManyInverse):
                return candidate.attribute == attribute
            default: return false
            }
        }
        return CollectionPath(name, of: record(collection.path, environment))
    }

    /// The name of the entity's relationship that fits; binding has found it by that name.
    private func relationship(
        of entity: Int,
        to destination: Int,
        _ fits: (Schema.Relationship) -> Bool
    ) -> String {
        schema.relationships[entity].first { $0.destination == destination && fits($0) }?.description.name ?? ""
    }
}
