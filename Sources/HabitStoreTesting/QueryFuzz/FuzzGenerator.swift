import Foundation
@_spi(Engines) import HabitStore

/// Generates well-typed queries over the whole language.
struct FuzzGenerator {
    let profile: FuzzProfile
    var random: SeededGenerator
    /// The variables in scope, the innermost last.
    var scope: [FuzzExpression] = []
    var nextVariable = 1
    /// The number of enclosing collections.
    var collectionDepth = 0
    /// Whether the condition will be a filter; otherwise it will be a predicate.
    var isForFilter = false

    /// About how many nodes one query may evaluate.
    private static let costLimit = 25_000.0
    /// The depth to which conditions nest.
    private static let depth = 4

    init(_ profile: FuzzProfile, seed: UInt64) {
        self.profile = profile
        random = SeededGenerator(seed: seed)
    }

    mutating func query() -> FuzzQuery {
        let entity = pickEntity()
        isForFilter = random.chance(45)
        let condition = condition(entity: entity)
        var query = FuzzQuery(entity: entity, condition: condition, form: .filter)
        if !isForFilter { query.form = .predicate(isErased: !random.chance(2)) }
        if condition.isPredicate, random.chance(10) { query.form = .composed }
        addOrder(to: &query)
        query.question = question(query)
        return query
    }

    /// A condition on an entity's records, as a filter.
    mutating func filter(entity: Int) -> FilterExpression {
        isForFilter = true
        return condition(entity: entity).filter(profile.schema) ?? .always
    }

    /// Chooses entities with many records less often, since each query scans all of them.
    private mutating func pickEntity() -> Int {
        let weights = profile.counts.map { $0 == 0 ? 1 : max(1, min(20, 1_200 / $0)) }
        var ticket = random.int(0...weights.reduce(0, +) - 1)
        for (entity, weight) in weights.enumerated() {
            if ticket < weight { return entity }
            ticket -= weight
        }
        return 0
    }

    /// A condition on an entity's records within the cost limit.
    mutating func condition(entity: Int) -> FuzzExpression {
        for depth in [random.int(0...Self.depth), 3, 2, 2, 1, 1, 0, 0, 0] {
            scope = [.variable(0, .record(entity))]
            nextVariable = 1
            collectionDepth = 0
            let condition = condition(depth)
            guard profile.cost(condition, entity: entity) <= Self.costLimit, condition.size < 120 else { continue }
            if isForFilter ? condition.filter(profile.schema) != nil : condition.isPredicate { return condition }
        }
        return .yes
    }

    private mutating func addOrder(to query: inout FuzzQuery) {
        // A predicate comes with sort descriptors, which do not support every attribute.
        let attributes = profile.attributes[query.entity].filter {
            query.form == .filter || $0.type.scalar?.isOrdered == true
        }
        for _ in 0..<random.pick([0, 0, 1, 1, 1, 2, 2, 3]) {
            let attribute = random.pick(attributes)
            query.sort.append(.init(position: attribute.property.position, isAscending: random.chance(50)))
        }
        if random.chance(30) {
            query.limit = random.chance(12) ? random.pick([0, -1, Int.max, Int.min]) : random.int(1...12)
        }
        if random.chance(20) {
            query.offset = random.chance(12) ? random.pick([-2, Int.max, Int.min]) : random.int(1...15)
        }
    }

    private mutating func question(_ query: FuzzQuery) -> FuzzQuery.Question {
        let canBeTyped = query.sort.allSatisfy { key in
            profile.schema.entities[query.entity].attributes[key.position].canBeSortedByType
        }
        guard canBeTyped else { return .records }
        switch random.int(0...19) {
        case 0...3: return .count
        case 4...5: return .identifiers
        case 6...7:
            return .project(
                (0..<random.int(0...3)).map { _ in random.pick(profile.attributes[query.entity]).property.position }
            )
        case 8...10 where query.limit == nil: return .pages(size: random.int(1...9))
        case 11: return query.form == .filter ? .records : .fetch
        default: return .fetch
        }
    }

    // MARK: Conditions

    mutating func condition(_ depth: Int) -> FuzzExpression {
        guard depth > 0 else { return test(depth) }
        switch random.int(0...99) {
        case 0..<8: return .operation(.not, [condition(depth - 1)], .bool)
        case 8..<24: return .operation(.and, (0..<random.int(2...3)).map { _ in condition(depth - 1) }, .bool)
        case 24..<38: return .operation(.or, (0..<random.int(2...3)).map { _ in condition(depth - 1) }, .bool)
        case 38..<41:
            return .operation(.conditional, [condition(depth - 1), condition(depth - 1), condition(depth - 1)], .bool)
        case 41..<43:
            return .operation(
                .compare(random.chance(50) ? .equal : .notEqual),
                [condition(depth - 1), condition(depth - 1)],
                .bool
            )
        case 43..<72: return collectionTest(depth) ?? test(depth)
        case 72..<78: return recordTest(depth) ?? test(depth)
        default: return test(depth)
        }
    }

    /// One of the records in scope, usually the innermost.
    mutating func record() -> FuzzExpression {
        let records = scope.filter { $0.type.entity != nil }
        return random.chance(78) ? records[records.count - 1] : random.pick(records)
    }

    /// Calls `body` with a new variable in scope.
    mutating func binding<R>(_ type: FuzzType, _ body: (inout FuzzGenerator, FuzzExpression) -> R) -> (Int, R) {
        let variable = nextVariable
        nextVariable += 1
        let expression = FuzzExpression.variable(variable, type)
        scope.append(expression)
        defer { scope.removeLast() }
        return (variable, body(&self, expression))
    }
}

extension AttributeDescription {
    /// Whether a `SortDescriptor` supports it; an enum's own order differs from that of its raw values.
    var canBeSortedByType: Bool { FuzzType(self)?.scalar?.isOrdered ?? false }
}

extension FuzzGenerator {
    /// An expression of a type.
    mutating func expression(_ type: FuzzType, _ depth: Int) -> FuzzExpression {
        guard depth > 0 else { return attribute(of: type) ?? constant(type, like: nil) }
        return type.isOptional ? optional(type, depth) : present(type, depth)
    }

    /// An attribute of exactly this type.
    private mutating func attribute(of type: FuzzType) -> FuzzExpression? {
        let record = record()
        guard let entity = record.type.entity,
            let attribute = random.pickAny(profile.attributes[entity].filter { $0.type == type })
        else { return nil }
        return .attribute(record, attribute.property, type)
    }

    private mutating func optional(_ type: FuzzType, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<40: return attribute(of: type) ?? constant(type, like: nil)
        case 40..<55:
            let value = expression(type, depth - 1)
            let (variable, body) = binding(type.wrapped) { generator, inner in
                generator.random.chance(40) ? inner : generator.expression(type.wrapped, depth - 1)
            }
            return .binding(.flatMap, variable: variable, value, body, type)
        case 55..<65:
            return .operation(
                .conditional,
                [condition(depth - 1), expression(type, depth - 1), expression(type, depth - 1)],
                type
            )
        case 65..<75 where !isForFilter:
            return .operation(.conditionalCast(type.wrapped), [expression(type.wrapped, depth - 1)], type)
        case 75..<85 where type.wrapped == .string || type.wrapped == .uuid:
            let list = expression(type.wrapped == .string ? .strings : .links, depth - 1)
            return .operation(random.chance(50) ? .least : .greatest, [list], type)
        default: return constant(type, like: nil)
        }
    }

    private mutating func present(_ type: FuzzType, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<25: return attribute(of: type) ?? constant(type, like: nil)
        case 25..<40:
            return .operation(.coalesce, [expression(type.optional, depth - 1), expression(type, depth - 1)], type)
        case 40..<47:
            return .operation(
                .conditional,
                [condition(depth - 1), expression(type, depth - 1), expression(type, depth - 1)],
                type
            )
        case 47..<49 where !isForFilter: return .operation(.forcedUnwrap, [expression(type.optional, depth - 1)], type)
        case 49..<85:
            switch type.scalar {
            case .int: return wholeNumber(depth)
            case .double: return arithmetic(expression(.double, depth - 1), depth)
            default: return constant(type, like: nil)
            }
        default: return constant(type, like: nil)
        }
    }

    private mutating func wholeNumber(_ depth: Int) -> FuzzExpression {
        let record = record()
        switch random.int(0...3) {
        case 0:
            guard let entity = record.type.entity, let many = random.pickAny(profile.toMany[entity]) else { break }
            return .operation(.length, [.relationship(record, many.property, many.type)], .int)
        case 1: return .operation(.length, [expression(random.pick([.string, .strings]), depth - 1)], .int)
        default: break
        }
        return arithmetic(expression(.int, depth - 1), depth)
    }

    /// Arithmetic on a number.
    mutating func arithmetic(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        if random.chance(10), !isForFilter || value.type == .int { return .operation(.negate, [value], value.type) }
        let operations: [FilterExpression.Arithmetic] = [.add, .subtract, .multiply, .divide]
        let operation = random.pick(isForFilter || value.type == .int ? operations + [.remainder] : operations)
        var other = operand(value, depth)
        if case .constant = other, value.type == .int, random.chance(70) {
            other = .constant(.int(Int64(random.int(random.chance(10) ? 0...3 : 1...3))), .int)
        }
        return .operation(.arithmetic(operation), random.chance(85) ? [value, other] : [other, value], value.type)
    }

    // MARK: Constants

    /// A constant of a type, often a value that occurs in the attribute of `value`.
    mutating func constant(_ type: FuzzType, like value: FuzzExpression?) -> FuzzExpression {
        if type.isOptional, random.chance(15) { return .constant(.null, type) }
        return .constant(constantValue(type, like: value), type)
    }

    /// The value of such a constant; never nil.
    mutating func constantValue(_ type: FuzzType, like value: FuzzExpression?) -> Value {
        if let property = value?.property, let attribute = profile.attribute(property),
            attribute.type.wrapped == type.wrapped,
            let sample = random.pickAny(attribute.samples), random.chance(65)
        {
            switch type.scalar {
            case .enumeration?, .json?: return sample
            default: return varied(sample)
            }
        }
        switch type.scalar {
        case .bool, nil: return .bool(random.chance(50))
        case .int: return .int(Int64(EdgeValues.int(&random)))
        case .double:
            return .double(
                !isForFilter && random.chance(1) ? random.pick([.infinity, -.infinity]) : EdgeValues.double(&random)
            )
        case .string: return .string(EdgeValues.text(&random))
        case .date: return .date(EdgeValues.date(&random))
        case .uuid: return .uuid(identifier())
        case .data: return .data(Data((0..<random.int(0...2)).map { _ in UInt8(random.int(0...3)) }))
        case .strings: return .strings((0..<random.int(0...2)).map { _ in EdgeValues.text(&random) })
        case .links: return .links((0..<random.int(0...2)).map { _ in identifier() })
        case .enumeration(let custom), .json(let custom): return custom.type.probe(position: random.int(0...4))
        }
    }

    /// A value that occurs, or one close to it.
    private mutating func varied(_ sample: Value) -> Value {
        guard random.chance(18) else { return sample }
        switch sample {
        case .int(let number): return .int(random.chance(50) ? number &+ 1 : number &- 1)
        case .double(let number):
            return .double(random.chance(50) ? number.nextUp : number == 0 ? -0.0 : number.nextDown)
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            return .date(Date(timeIntervalSinceReferenceDate: random.chance(50) ? seconds.nextUp : seconds.nextDown))
        case .string(let text):
            return .string(
                random.pick([
                    text.decomposedStringWithCanonicalMapping, text.precomposedStringWithCanonicalMapping,
                    text.uppercased(), text.lowercased(), text + "\0",
                ])
            )
        default: return sample
        }
    }

    private mutating func identifier() -> UUID {
        let entity = random.pick(profile.attributes)
        guard case .uuid(let id)? = random.pickAny(entity.first?.samples ?? []), random.chance(85) else {
            return EdgeValues.id(&random)
        }
        return id
    }

    /// A part of a text that occurs.
    mutating func part(of value: FuzzExpression) -> String {
        guard case .string(let text) = constantValue(.string, like: value) else { return "" }
        guard random.chance(70), !text.isEmpty else { return text }
        // Sometimes cut between scalars, within a Character.
        if random.chance(25) {
            let scalars = Array(text.unicodeScalars)
            let lower = random.int(0...scalars.count - 1)
            var part = String.UnicodeScalarView()
            part.append(contentsOf: scalars[lower..<min(scalars.count, lower + random.int(1...3))])
            return String(part)
        }
        let characters = Array(text)
        let lower = random.chance(50) ? 0 : random.int(0...characters.count - 1)
        return String(characters[lower..<min(characters.count, lower + random.int(1...4))])
    }

    /// A value that may be an element of a list.
    mutating func element(of list: FuzzExpression) -> FuzzExpression {
        let type = list.type.element ?? .string
        if random.chance(10) { return expression(type, 0) }
        switch constantValue(list.type, like: list) {
        case .strings(let texts): return .constant(.string(random.pickAny(texts) ?? EdgeValues.text(&random)), type)
        case .links(let ids): return .constant(.uuid(random.pickAny(ids) ?? identifier()), type)
        default: return constant(type, like: nil)
        }
    }
}

extension FuzzExpression {
    /// The attribute that a value comes from.
    fileprivate var property: FuzzProperty? {
        switch self {
        case .attribute(_, let property, _): return property
        case .binding(.flatMap, _, let source, let body, _): return body.property ?? source.property
        case .operation(.coalesce, let operands, _), .operation(.forcedUnwrap, let operands, _),
            .operation(.conditionalCast, let operands, _), .operation(.forceCast, let operands, _),
            .operation(.rawValue, let operands, _), .operation(.arithmetic, let operands, _):
            return operands.first?.property
        default: return nil
        }
    }
}

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
