import Foundation
import HabitStore

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
        case .int: return .int(Int64(OddValues.int(&random)))
        case .double:
            return .double(
                !isForFilter && random.chance(1) ? random.pick([.infinity, -.infinity]) : OddValues.double(&random)
            )
        case .string: return .string(OddValues.text(&random))
        case .date: return .date(OddValues.date(&random))
        case .uuid: return .uuid(identifier())
        case .data: return .data(Data((0..<random.int(0...2)).map { _ in UInt8(random.int(0...3)) }))
        case .strings: return .strings((0..<random.int(0...2)).map { _ in OddValues.text(&random) })
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
            return OddValues.id(&random)
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
        case .strings(let texts): return .constant(.string(random.pickAny(texts) ?? OddValues.text(&random)), type)
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
