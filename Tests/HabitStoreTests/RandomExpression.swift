import Foundation

@_spi(Engines) @testable import HabitStore
@_spi(Engines) @testable import HabitStoreTesting

/// Generates well-typed filters with everything in the language, even ones that no one would write.
struct RandomExpression {
    let records: RecordsForFilters
    var generator: SeededGenerator
    private var depth = 0
    private var variables: [Int] = []

    init(records: RecordsForFilters, generator: SeededGenerator) {
        self.records = records
        self.generator = generator
    }

    private var schema: Schema { records.schema }

    mutating func condition(entity: Int) -> FilterExpression {
        variables = [entity]
        depth = 0
        return condition()
    }

    private mutating func condition() -> FilterExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 4 else { return generator.chance(10) ? .literal(.bool(generator.chance(50))) : comparison() }
        switch generator.int(0...21) {
        case 0...1: return .not(condition())
        case 2...4: return .and((0..<generator.int(0...4)).map { _ in condition() })
        case 5...7: return .or((0..<generator.int(0...4)).map { _ in condition() })
        case 8: return .conditional(condition(), condition(), condition())
        case 9: return .coalesce(value(.bool), condition())
        case 10: return .literal(.bool(generator.chance(50)))
        case 11...12: return members() ?? comparison()
        case 13...14: return range()
        case 15...16: return generator.chance(60) ? membership() : calculation()
        case 17...18: return textTest()
        case 19: return .exists(record().0)
        default: return comparison()
        }
    }

    private mutating func comparison() -> FilterExpression {
        let kind = self.kind()
        let left = generator.chance(80) ? attribute(kind) : value(kind)
        return .compare(operation(), left, generator.chance(60) ? literal(kind) : value(kind))
    }

    /// Arithmetic that sometimes overflows or divides by zero.
    private mutating func calculation() -> FilterExpression {
        let number = FilterExpression.literal(.int(generator.pick([0, 1, 2, -1, .max, .min])))
        return .compare(operation(), .arithmetic(arithmetic(), attribute(.int), number), literal(.int))
    }

    /// Two bounds on one attribute, which are compiled into one.
    private mutating func range() -> FilterExpression {
        let kind = generator.pick([AttributeKind.int, .double, .date, .string, .int])
        let value = attribute(kind)
        return .and([
            .compare(operation(), value, literal(kind)), .compare(operation(), value, literal(kind)),
            .compare(operation(), literal(kind), value),
        ])
    }

    private mutating func membership() -> FilterExpression {
        let kind = self.kind()
        let member = generator.chance(80) ? attribute(kind) : value(kind)
        return .isIn(
            member,
            (0..<generator.pick([0, 1, 3, 8, 40])).map { _ in generator.chance(3) ? .null : constant(kind) }
        )
    }

    private mutating func textTest() -> FilterExpression {
        let test = generator.pick([FilterExpression.TextTest.contains, .beginsWith, .endsWith, .searches, .contains])
        switch generator.int(0...5) {
        case 0: return .text(.contains, attribute(.strings), generator.chance(50) ? literal(.string) : value(.string))
        case 1: return .text(.contains, attribute(.links), generator.chance(50) ? literal(.uuid) : value(.uuid))
        default:
            let part = generator.chance(70) ? shortText() : value(.string)
            return .text(test, generator.chance(75) ? attribute(.string) : value(.string), part)
        }
    }

    private mutating func shortText() -> FilterExpression {
        .literal(.string(CompiledFilterRun.text(&generator, atMost: 2)))
    }

    private mutating func members() -> FilterExpression? {
        guard let (path, number, inner) = collection() else { return nil }
        switch generator.int(0...2) {
        case 0: return .some(path, variable: number, inner)
        case 1: return .every(path, variable: number, inner)
        default:
            return .compare(
                operation(),
                .count(path, variable: number, inner),
                .literal(.int(Int64(generator.int(-1...4))))
            )
        }
    }

    private mutating func collection() -> (CollectionPath, Int, FilterExpression)? {
        guard variables.count <= 2 else { return nil }
        let (path, entity) = record()
        let many = schema.relationships[entity].filter { !$0.description.isToOne }
        guard let relationship = generator.pickAny(many) else { return nil }
        let number = variables.count
        variables.append(relationship.destination)
        defer { variables.removeLast() }
        let inner = generator.chance(25) ? FilterExpression.always : condition()
        return (CollectionPath(relationship.description.name, of: path), number, inner)
    }

    // MARK: Values

    private mutating func value(_ kind: AttributeKind) -> FilterExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 4 else { return generator.chance(60) ? attribute(kind) : literal(kind) }
        switch generator.int(0...11) {
        case 0: return .literal(.null)
        case 1...2: return literal(kind)
        case 3...4: return .coalesce(value(kind), value(kind))
        case 5...6: return .conditional(condition(), value(kind), value(kind))
        case 7...10: return calculated(kind) ?? attribute(kind)
        default: return attribute(kind)
        }
    }

    private mutating func calculated(_ kind: AttributeKind) -> FilterExpression? {
        switch kind {
        case .int:
            switch generator.int(0...4) {
            case 0: return .length(value(generator.pick([.string, .strings, .links, .data])))
            case 1: return .caseInsensitiveOrder(value(.string), value(.string))
            case 2:
                guard let (path, number, inner) = collection() else { return nil }
                return .count(path, variable: number, inner)
            default: return .arithmetic(arithmetic(), value(.int), value(.int))
            }
        case .double: return .arithmetic(arithmetic(), value(.double), value(.double))
        case .string: return generator.chance(50) ? .least(value(.strings)) : .greatest(value(.strings))
        case .uuid: return generator.chance(50) ? .least(value(.links)) : .greatest(value(.links))
        case .bool: return condition()
        case .date, .data, .strings, .links: return nil
        }
    }

    private mutating func attribute(_ kind: AttributeKind) -> FilterExpression {
        for _ in 0..<4 {
            let (path, entity) = record()
            let fitting = schema.entities[entity].attributes.filter { $0.kind == kind }
            if let attribute = generator.pickAny(fitting) { return .attribute(AttributePath(attribute.name, of: path)) }
        }
        return literal(kind)
    }

    private mutating func literal(_ kind: AttributeKind) -> FilterExpression { .literal(constant(kind)) }

    private mutating func constant(_ kind: AttributeKind) -> Value {
        if kind == .uuid, generator.chance(85) {
            let table = generator.pick(records.order)
            return .uuid(generator.pick(table))
        }
        return RecordsForFilters.value(kind, &generator)
    }

    /// One of the variables, and possibly to-one steps.
    private mutating func record() -> (RecordPath, Int) {
        let variable = generator.int(0...variables.count - 1)
        var entity = variables[variable]
        var hops: [String] = []
        while hops.count < 3, generator.chance(40) {
            guard let step = generator.pickAny(schema.relationships[entity].filter { $0.description.isToOne }) else {
                break
            }
            hops.append(step.description.name)
            entity = step.destination
        }
        return (RecordPath(variable: variable, hops: hops), entity)
    }

    private mutating func kind() -> AttributeKind {
        generator.pick([.bool, .int, .double, .string, .date, .uuid, .data, .strings, .links, .int, .string])
    }

    private mutating func operation() -> FilterExpression.Comparison {
        generator.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
    }

    private mutating func arithmetic() -> FilterExpression.Arithmetic {
        generator.pick([.add, .subtract, .multiply, .divide, .remainder])
    }
}
