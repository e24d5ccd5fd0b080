import Foundation

extension FilterExpression {
    /// Resolves the names.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownAttribute`` for a name that the entity does not have, with those it has;
    ///   ``HabitStoreError/Code/invalidQuery`` for values of kinds that cannot be compared.
    @_spi(Engines) public func bound(to schema: Schema, entity: Int) throws -> BoundExpression {
        let binder = Binder(schema: schema)
        return try binder.condition(self, [0: entity])
    }
}

/// Binds one expression; the environment says which entity each variable's records are of.
private struct Binder {
    let schema: Schema
    typealias Environment = [Int: Int]

    func condition(_ expression: FilterExpression, _ environment: Environment) throws -> BoundExpression {
        let bound = try bind(expression, environment)
        guard bound.kind == .bool else {
            throw HabitStoreError(.invalidQuery, "a condition is needed here, but this is a value: \(expression)")
        }
        return bound
    }

    func bind(_ expression: FilterExpression, _ environment: Environment) throws -> BoundExpression {
        switch expression {
        case .literal(let value): return .literal(try value.normalized())
        case .attribute(let path): return try attribute(path, environment)
        case .exists(let path): return .exists(try self.path(path, environment).path)
        case .not(let inner): return .not(try condition(inner, environment))
        case .and(let parts): return .and(try parts.map { try condition($0, environment) })
        case .or(let parts): return .or(try parts.map { try condition($0, environment) })
        case .compare(let comparison, let left, let right):
            if let test = try recordTest(comparison, left, right, environment) { return test }
            let pair = (try bind(left, environment), try bind(right, environment))
            let left = try coerced(pair.0, toFit: pair.1)
            let right = try coerced(pair.1, toFit: pair.0)
            try requireComparable(left, right, comparison)
            if comparison == .equal, let condition = left.heldTrue(right) ?? right.heldTrue(left) { return condition }
            return .compare(comparison, left, right)
        case .isIn(let member, let values):
            let member = try bind(member, environment)
            let literals = try values.map { try coerced(.literal($0.normalized()), toFit: member) }
            return .isIn(
                member,
                try literals.map { literal in
                    try requireComparable(member, literal, .equal)
                    guard case .literal(let value) = literal else { return .null }
                    return value
                }
            )
        case .text(let test, let text, let part):
            let text = try bind(text, environment)
            var part = try bind(part, environment)
            if text.kind == .links, case .literal(.string(let id)) = part, let id = UUID(uuidString: id) {
                part = .literal(.uuid(id))
            }
            try requireText(text, part, test)
            return .text(test, text, part)
        case .some(let path, let variable, let inner):
            let bound = try collection(path, variable, inner, environment)
            return .some(bound.0, bound.1)
        case .every(let path, let variable, let inner):
            let bound = try collection(path, variable, inner, environment)
            return .every(bound.0, bound.1)
        case .count(let path, let variable, let inner):
            let bound = try collection(path, variable, inner, environment)
            return .count(bound.0, bound.1)
        case .length(let inner): return .length(try measurable(bind(inner, environment)))
        case .least(let inner): return .least(try list(bind(inner, environment), "MIN"))
        case .greatest(let inner): return .greatest(try list(bind(inner, environment), "MAX"))
        case .caseInsensitiveOrder(let left, let right):
            let (left, right) = (try bind(left, environment), try bind(right, environment))
            for kind in [left.kind, right.kind] where kind != nil && kind != .string {
                throw HabitStoreError(.invalidQuery, "CASECOMPARE compares two texts")
            }
            return .caseInsensitiveOrder(left, right)
        case .coalesce(let first, let second):
            let (first, second) = try pair(first, second, environment, "COALESCE")
            return .coalesce(first, second)
        case .conditional(let test, let first, let second):
            let test = try condition(test, environment)
            let (first, second) = try pair(first, second, environment, "IF")
            return .conditional(test, first, second)
        case .arithmetic(let operation, let left, let right):
            let (left, right) = try pair(left, right, environment, operation.rawValue)
            for kind in [left.kind, right.kind] where kind != nil && kind != .int && kind != .double {
                throw HabitStoreError(.invalidQuery, "\(operation.rawValue) needs two numbers of one kind")
            }
            return .arithmetic(operation, left, right)
        }
    }

    /// Two values of one kind, or nil.
    private func pair(
        _ first: FilterExpression,
        _ second: FilterExpression,
        _ environment: Environment,
        _ word: String
    ) throws -> (BoundExpression, BoundExpression) {
        let bound = (try bind(first, environment), try bind(second, environment))
        let first = try coerced(bound.0, toFit: bound.1)
        let second = try coerced(bound.1, toFit: bound.0)
        if let one = first.kind, let other = second.kind, one != other {
            throw HabitStoreError(
                .invalidQuery,
                "\(word) needs values of one kind, and these are of the kinds \(one.rawValue) and \(other.rawValue)"
            )
        }
        return (first, second)
    }

    private func measurable(_ value: BoundExpression) throws -> BoundExpression {
        switch value.kind {
        case nil, .string, .strings, .links, .data: return value
        case .bool, .int, .double, .date, .uuid:
            throw HabitStoreError(.invalidQuery, "LENGTH is that of a text, a list or data")
        }
    }

    private func list(_ value: BoundExpression, _ word: String) throws -> BoundExpression {
        switch value.kind {
        case nil, .strings, .links: return value
        case .bool, .int, .double, .date, .uuid, .string, .data:
            throw HabitStoreError(.invalidQuery, "\(word) is that of a list")
        }
    }

    private func attribute(_ path: AttributePath, _ environment: Environment) throws -> BoundExpression {
        let (bound, entityPosition) = try self.path(path.record, environment)
        let entity = schema.entities[entityPosition]
        guard let position = entity.position(of: path.attribute) else {
            throw Self.unknown(path.attribute, in: entity)
        }
        let attribute = entity.attributes[position]
        return .attribute(
            bound,
            position: position,
            kind: attribute.kind,
            isOptional: attribute.isOptional || !bound.hops.isEmpty
        )
    }

    /// `habit == nil` asks whether there is a record.
    private func recordTest(
        _ comparison: FilterExpression.Comparison,
        _ left: FilterExpression,
        _ right: FilterExpression,
        _ environment: Environment
    ) throws -> BoundExpression? {
        guard case .attribute(let path) = left, right == .literal(.null),
            comparison == .equal || comparison == .notEqual
        else { return nil }
        let entity = try self.path(path.record, environment).entity
        guard schema.entities[entity].relationship(path.attribute)?.isToOne == true else { return nil }
        let record = RecordPath(variable: path.record.variable, hops: path.record.hops + [path.attribute])
        let exists = BoundExpression.exists(try self.path(record, environment).path)
        return comparison == .equal ? .not(exists) : exists
    }

    /// Text forms know numbers and quoted text only: a whole number next to a double becomes one, text next to a date
    /// or an identifier is read as such.
    private func coerced(_ expression: BoundExpression, toFit other: BoundExpression) throws -> BoundExpression {
        guard case .literal(let value) = expression, let kind = other.kind, value.kind != kind else {
            return expression
        }
        switch (value, kind) {
        case (.int(let number), .double): return .literal(.double(Double(number)))
        case (.string(let text), .date):
            guard let date = TextDate.parse(text) else {
                throw HabitStoreError(
                    .invalidQuery,
                    "a date is written as \"2026-01-31\", \"2026-01-31T08:30:00Z\", or date(seconds since 2001)",
                    detail: text
                )
            }
            return .literal(.date(date))
        case (.string(let text), .uuid):
            guard let id = UUID(uuidString: text) else {
                throw HabitStoreError(.invalidQuery, "an identifier is written as a UUID in quotes", detail: text)
            }
            return .literal(.uuid(id))
        default: return expression
        }
    }

    private func path(_ path: RecordPath, _ environment: Environment) throws -> (path: BoundPath, entity: Int) {
        guard var entity = environment[path.variable] else {
            throw HabitStoreError(.invalidQuery, "the variable $\(path.variable) is not bound by any collection here")
        }
        var hops: [BoundPath.Hop] = []
        for name in path.hops {
            guard let position = schema.entities[entity].relationships.firstIndex(where: { $0.name == name }) else {
                throw Self.unknown(name, in: schema.entities[entity])
            }
            let relationship = schema.relationships[entity][position]
            guard relationship.description.isToOne else {
                throw HabitStoreError(
                    .invalidQuery,
                    "\(schema.entities[entity].name).\(name) leads to many records; use ANY, ALL or COUNT",
                    at: .init(entity: schema.entities[entity].name, attribute: name)
                )
            }
            hops.append(.init(attribute: relationship.attribute, destination: relationship.destination))
            entity = relationship.destination
        }
        return (BoundPath(variable: path.variable, hops: hops), entity)
    }

    private func collection(
        _ path: CollectionPath,
        _ variable: Int,
        _ inner: FilterExpression,
        _ environment: Environment
    ) throws -> (BoundCollection, BoundExpression) {
        let (bound, entity) = try self.path(path.record, environment)
        let description = schema.entities[entity]
        guard let position = description.relationships.firstIndex(where: { $0.name == path.relationship }) else {
            throw Self.unknown(path.relationship, in: description)
        }
        let relationship = schema.relationships[entity][position]
        let storage: BoundCollection.Storage
        switch relationship.description.kind {
        case .toOne:
            throw HabitStoreError(
                .invalidQuery,
                "\(description.name).\(path.relationship) leads to one record; use it without ANY, ALL or COUNT",
                at: .init(entity: description.name, attribute: path.relationship)
            )
        case .toMany: storage = .referring(attribute: relationship.attribute)
        case .manyToManyOwner: storage = .linked(attribute: relationship.attribute)
        case .manyToManyInverse: storage = .linking(attribute: relationship.attribute)
        }
        var environment = environment
        environment[variable] = relationship.destination
        let collection = BoundCollection(
            path: bound,
            storage: storage,
            destination: relationship.destination,
            variable: variable
        )
        return (collection, try condition(inner, environment))
    }

    /// Explains why a name cannot be used where it stands: nothing has it, or something of another sort.
    private static func unknown(_ name: String, in entity: EntityDescription) -> HabitStoreError {
        let title = "\(entity.name).\(name)"
        let other: String? =
            if let relationship = entity.relationships.first(where: { $0.name == name }) {
                relationship.isToOne
                    ? "\(title) leads to a record; name one of its attributes after a point, or compare it with nil"
                    : "\(title) leads to many records; use ANY, ALL or COUNT"
            } else if entity.position(of: name) != nil {
                "\(title) is an attribute and leads to no record; compare it directly"
            } else {
                nil
            }
        if let other {
            return HabitStoreError(.invalidQuery, other, at: .init(entity: entity.name, attribute: name))
        }
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        return HabitStoreError(
            .unknownAttribute,
            "\(entity.name) has no attribute or relationship of this name; it has \(names.joined(separator: ", "))",
            at: .init(entity: entity.name, attribute: name),
            detail: name
        )
    }

    private func requireComparable(
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ comparison: FilterExpression.Comparison
    ) throws {
        let (first, second) = (left.kind, right.kind)
        guard let first, let second, first != second else { return }
        throw HabitStoreError(
            .invalidQuery,
            "values of the kinds \(first.rawValue) and \(second.rawValue) cannot be compared by \(comparison.rawValue)"
        )
    }

    private func requireText(
        _ text: BoundExpression,
        _ part: BoundExpression,
        _ test: FilterExpression.TextTest
    ) throws {
        let fits: Bool
        switch text.kind {
        case .string, nil: fits = part.kind == .string || part.kind == nil
        case .strings: fits = test == .contains && (part.kind == .string || part.kind == nil)
        case .links: fits = test == .contains && (part.kind == .uuid || part.kind == nil)
        default: fits = false
        }
        guard fits else {
            throw HabitStoreError(
                .invalidQuery,
                "\(test.rawValue) compares text with text, or asks whether a list holds an element"
            )
        }
    }
}

extension BoundExpression {
    /// `note?.contains(x) == true` as a conjunction, which engines can narrow by: whether this choice between a condition
    /// and nil is true.
    fileprivate func heldTrue(_ other: BoundExpression) -> BoundExpression? {
        guard other == .literal(.bool(true)), case .conditional(let test, let condition, .literal(.null)) = self,
            condition.isCondition
        else { return nil }
        return .and([test, condition])
    }

    /// Whether it is true or false, and never nil.
    private var isCondition: Bool {
        switch self {
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every: true
        default: false
        }
    }
}

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
