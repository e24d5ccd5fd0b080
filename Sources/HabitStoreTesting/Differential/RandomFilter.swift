import Foundation
import HabitStore

/// Makes up filters that fit a schema: each is well typed, and in the form in which its text is read back.
struct RandomFilter {
    let schema: Schema
    let population: Population
    var generator: SeededGenerator
    /// Whether evaluating the last condition can fail.
    private(set) var mayFail = false
    private var depth = 0
    private var variables: [Int] = []

    /// How deep conditions nest.
    private static let maximumDepth = 3

    init(schema: Schema, population: Population, generator: SeededGenerator) {
        self.schema = schema
        self.population = population
        self.generator = generator
    }

    /// A condition on an entity's records.
    mutating func condition(entity: Int) -> FilterExpression {
        depth = 0
        mayFail = false
        variables = [entity]
        return condition()
    }

    private mutating func condition() -> FilterExpression {
        depth += 1
        defer { depth -= 1 }
        if depth <= Self.maximumDepth {
            switch generator.int(0...19) {
            case 0...1: return .not(condition())
            case 2...4: return .and((0..<generator.int(2...3)).map { _ in condition() })
            case 5...7: return .or((0..<generator.int(2...3)).map { _ in condition() })
            case 8...10: if let test = collection() { return test }
            case 11: return .conditional(condition(), condition(), condition())
            default: break
            }
        }
        return simpleCondition()
    }

    private mutating func simpleCondition() -> FilterExpression {
        let (path, attribute) = attribute()
        let value = FilterExpression.attribute(path)
        switch (attribute.kind, generator.int(0...9)) {
        case (.bool, 0...6): return value
        case (.links, 0...4): return .text(.contains, value, literalValue(.uuid))
        case (.links, _): return .compare(comparison(), .length(value), .literal(.int(Int64(generator.int(0...3)))))
        case (.strings, 0...5): return .text(.contains, value, .literal(literal(.string)))
        case (.string, 0...2): return .text(textTest(), value, .literal(literal(.string)))
        case (.string, 3), (.strings, 6):
            return .compare(comparison(), .length(value), .literal(.int(Int64(generator.int(0...4)))))
        case (_, 4): return .isIn(value, (0..<generator.int(0...4)).map { _ in literal(attribute.kind) })
        case (_, 5): return .compare(comparison(isOrdered: false), value, .literal(.null))
        case (_, 6):
            let present = FilterExpression.coalesce(value, literalValue(attribute.kind))
            return .compare(comparison(), present, literalValue(attribute.kind))
        case (.int, 7): return arithmetic(value)
        case (_, 8): if let test = existence() { return test }
        default: break
        }
        return .compare(comparison(), value, literalValue(attribute.kind))
    }

    private mutating func literalValue(_ kind: AttributeKind) -> FilterExpression { .literal(literal(kind)) }

    private mutating func arithmetic(_ value: FilterExpression) -> FilterExpression {
        mayFail = true
        let operation = generator.pick([FilterExpression.Arithmetic.add, .subtract, .multiply, .divide, .remainder])
        let number = FilterExpression.literal(.int(Int64(generator.int(generator.chance(10) ? 0...3 : 1...3))))
        return .compare(comparison(), .arithmetic(operation, value, number), literalValue(.int))
    }

    private mutating func comparison(isOrdered: Bool = true) -> FilterExpression.Comparison {
        guard isOrdered else { return generator.pick([.equal, .notEqual]) }
        return generator.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .equal])
    }

    private mutating func textTest() -> FilterExpression.TextTest {
        generator.pick([.contains, .beginsWith, .endsWith, .searches, .contains, .beginsWith])
    }

    // MARK: Paths

    /// One of the variables, mostly the innermost, and perhaps a to-one step.
    private mutating func record() -> (RecordPath, Int) {
        let variable = generator.chance(85) ? variables.count - 1 : generator.int(0...variables.count - 1)
        let entity = variables[variable]
        let steps = schema.relationships[entity].filter { $0.description.isToOne }
        guard let step = generator.pickAny(steps), generator.chance(35) else {
            return (RecordPath(variable: variable), entity)
        }
        return (RecordPath(variable: variable, hops: [step.description.name]), step.destination)
    }

    private mutating func attribute() -> (AttributePath, AttributeDescription) {
        let (path, entity) = record()
        let attribute = generator.pick(schema.entities[entity].attributes)
        return (AttributePath(attribute.name, of: path), attribute)
    }

    private mutating func existence() -> FilterExpression? {
        let (path, _) = record()
        return path.hops.isEmpty ? nil : .exists(path)
    }

    private mutating func collection() -> FilterExpression? {
        // Each level multiplies the work, so two are enough.
        guard variables.count <= 2 else { return nil }
        let (path, entity) = record()
        let many = schema.relationships[entity].filter { !$0.description.isToOne }
        guard let relationship = generator.pickAny(many) else { return nil }
        let members = CollectionPath(relationship.description.name, of: path)
        let number = variables.count
        variables.append(relationship.destination)
        let inner = generator.chance(25) ? FilterExpression.always : condition()
        variables.removeLast()
        switch generator.int(0...2) {
        case 0: return .some(members, variable: number, inner)
        case 1: return .every(members, variable: number, inner)
        default:
            let count = FilterExpression.count(members, variable: number, inner)
            return .compare(comparison(), count, .literal(.int(Int64(generator.int(0...3)))))
        }
    }

    // MARK: Constants

    private mutating func literal(_ kind: AttributeKind) -> Value {
        switch kind {
        case .bool: return .bool(generator.chance(50))
        case .int: return .int(Int64(OddValues.int(&generator)))
        case .double:
            let number = OddValues.double(&generator)
            return .double(number == 0 ? 0 : number)
        case .string: return .string(OddValues.text(&generator).normalizedToNFC())
        case .date: return .date(OddValues.date(&generator))
        case .uuid:
            let known = population.habits + population.entries + population.tags
            guard let id = generator.pickAny(known), generator.chance(80) else {
                return .uuid(OddValues.id(&generator))
            }
            return .uuid(id)
        case .data: return .data(Data([UInt8(generator.int(0...255))]))
        case .strings:
            return .strings((0..<generator.int(0...2)).map { _ in OddValues.text(&generator).normalizedToNFC() })
        case .links: return .links([OddValues.id(&generator)])
        }
    }
}
