import Foundation
import HabitStore

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
