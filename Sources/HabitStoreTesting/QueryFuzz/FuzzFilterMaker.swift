import Foundation
import HabitStore

extension FuzzExpression {
    /// The filter with the same meaning; nil if filters cannot express a part of it.
    ///
    /// It is made differently than predicates are lowered: of several equivalent forms, this takes the one that a person would write.
    func filter(_ schema: Schema) -> FilterExpression? {
        try? FuzzFilterMaker(schema: schema).value(self, .init())
    }
}

/// No filter expresses it.
private struct NoFilter: Error {}

/// Makes filters from expressions.
private struct FuzzFilterMaker {
    let schema: Schema

    /// The meanings of variables.
    struct Scope {
        var records: [Int: RecordPath] = [0: RecordPath()]
        var values: [Int: FilterExpression] = [:]
        var depth = 0
    }

    func value(_ expression: FuzzExpression, _ scope: Scope) throws -> FilterExpression {
        switch expression {
        case .constant(let value, let type): return .literal(try constant(value, type))
        case .variable(let variable, _):
            guard let value = scope.values[variable] else { throw NoFilter() }
            return value
        case .attribute(let base, let property, _):
            let name = schema.entities[property.entity].attributes[property.position].name
            return .attribute(AttributePath(name, of: try record(base, scope)))
        case .relationship: throw NoFilter()
        case .operation(let operation, let operands, _): return try self.operation(operation, operands, scope)
        case .binding(let binding, let variable, let source, let body, _):
            return try self.binding(binding, variable, source, body, scope)
        }
    }

    private func constant(_ value: Value, _ type: FuzzType) throws -> Value {
        if case .value(.json) = type.shape, !value.isNull { throw NoFilter() }
        // Texts keep their original form: the stores have to bring them into NFC.
        guard let normalized = try? value.normalized() else { throw NoFilter() }
        if case .links = value { return normalized }
        return value
    }

    private func record(_ expression: FuzzExpression, _ scope: Scope) throws -> RecordPath {
        switch expression {
        case .variable(let variable, _):
            guard let path = scope.records[variable] else { throw NoFilter() }
            return path
        case .relationship(let base, let property, let type) where type.isOptional:
            var path = try record(base, scope)
            path.hops.append(schema.entities[property.entity].relationships[property.position].name)
            return path
        default: throw NoFilter()
        }
    }

    /// A collection, the variable for its members, and the conditions on them.
    private func members(
        _ expression: FuzzExpression,
        _ scope: Scope
    ) throws -> (path: CollectionPath, variable: Int, condition: [FilterExpression]) {
        switch expression {
        case .relationship(let base, let property, _):
            let name = schema.entities[property.entity].relationships[property.position].name
            return (CollectionPath(name, of: try record(base, scope)), scope.depth + 1, [])
        case .binding(.filter, let variable, let source, let body, _):
            let (path, number, condition) = try members(source, scope)
            return (path, number, condition + [try value(body, inner(scope, variable, number))])
        default: throw NoFilter()
        }
    }

    private func inner(_ scope: Scope, _ variable: Int, _ number: Int) -> Scope {
        var scope = scope
        scope.depth = number
        scope.records[variable] = RecordPath(variable: number)
        return scope
    }

    // MARK: Bindings

    private func binding(
        _ binding: FuzzBinding,
        _ variable: Int,
        _ source: FuzzExpression,
        _ body: FuzzExpression,
        _ scope: Scope
    ) throws -> FilterExpression {
        switch binding {
        case .flatMap: return try flatMap(variable, source, body, scope)
        case .filter: throw NoFilter()
        case .some, .every:
            // `filter` evaluates every member before the first is tested; ANY and ALL stop at the first that decides.
            if case .binding(.filter, _, _, _, _) = source, source.mayFail { throw NoFilter() }
            let (path, number, conditions) = try members(source, scope)
            let body = try value(body, inner(scope, variable, number))
            if binding == .some { return .some(path, variable: number, .all(conditions + [body])) }
            guard !conditions.isEmpty else { return .every(path, variable: number, body) }
            return .every(path, variable: number, .or([.not(.all(conditions)), body]))
        }
    }

    private func flatMap(
        _ variable: Int,
        _ source: FuzzExpression,
        _ body: FuzzExpression,
        _ scope: Scope
    ) throws -> FilterExpression {
        var inner = scope
        if source.type.entity != nil {
            let path = try record(source, scope)
            inner.records[variable] = path
            let body = try value(body, inner)
            // An attribute at the end of a path is already nil if the path leads nowhere.
            if case .attribute(let attribute) = body, attribute.record.hops.starts(with: path.hops),
                attribute.record.variable == path.variable
            {
                return body
            }
            return .conditional(.exists(path), body, .literal(.null))
        }
        let value = try value(source, scope)
        inner.values[variable] = value
        let transformed = try self.value(body, inner)
        return .conditional(.compare(.notEqual, value, .literal(.null)), transformed, .literal(.null))
    }

    // MARK: Operations

    private func operation(
        _ operation: FuzzOperation,
        _ operands: [FuzzExpression],
        _ scope: Scope
    ) throws -> FilterExpression {
        switch operation {
        case .and: return .all(try operands.map { try value($0, scope) })
        case .or: return .any(try operands.map { try value($0, scope) })
        case .not: return .not(try value(operands[0], scope))
        case .conditional:
            return .conditional(
                try value(operands[0], scope),
                try value(operands[1], scope),
                try value(operands[2], scope)
            )
        case .coalesce: return try coalesce(operands[0], operands[1], scope)
        case .compare(let comparison): return try compare(comparison, operands[0], operands[1], scope)
        case .order(let comparison):
            return .compare(comparison, try value(operands[0], scope), try value(operands[1], scope))
        case .arithmetic(let operation):
            return .arithmetic(operation, try value(operands[0], scope), try value(operands[1], scope))
        case .negate:
            guard operands[0].type.wrapped == .int else { throw NoFilter() }
            return .arithmetic(.subtract, .literal(.int(0)), try value(operands[0], scope))
        case .inRange(let isClosed, let isCaptured):
            // A range that the predicate makes fails if its bounds are in the wrong order.
            guard isCaptured else { throw NoFilter() }
            let element = try value(operands[0], scope)
            return .and([
                .compare(.greaterOrEqual, element, try value(operands[1], scope)),
                .compare(isClosed ? .lessOrEqual : .less, element, try value(operands[2], scope)),
            ])
        case .inPartialRange(let range):
            let comparison: FilterExpression.Comparison
            switch range {
            case .from: comparison = .greaterOrEqual
            case .through: comparison = .lessOrEqual
            case .upTo: comparison = .less
            }
            return .compare(comparison, try value(operands[0], scope), try value(operands[1], scope))
        case .isIn(let values, _):
            return .isIn(
                try value(operands[0], scope),
                try values.map { try constant($0, operands[0].type) }
            )
        case .text(let test):
            return .text(test, try value(operands[0], scope), try value(operands[1], scope))
        case .length, .isEmpty: return try length(operands[0], isEmpty: operation == .isEmpty, scope)
        case .hasElement:
            return .text(.contains, try value(operands[0], scope), try value(operands[1], scope))
        case .rawValue: return try value(operands[0], scope)
        case .caseOrder(let order, let isNegated):
            return .compare(
                isNegated ? .notEqual : .equal,
                .caseInsensitiveOrder(try value(operands[0], scope), try value(operands[1], scope)),
                .literal(.int(Int64(order.rawValue)))
            )
        case .least: return .least(try value(operands[0], scope))
        case .greatest: return .greatest(try value(operands[0], scope))
        case .forcedUnwrap, .listBegins, .listHasPart, .matches, .first, .last, .element, .lookup, .typeCheck,
            .conditionalCast, .forceCast:
            throw NoFilter()
        }
    }

    private func coalesce(
        _ first: FuzzExpression,
        _ second: FuzzExpression,
        _ scope: Scope
    ) throws -> FilterExpression {
        // `habit?.entries.contains { … } ?? false` is `ANY habit.entries { … }` in a filter.
        if case .binding(.flatMap, let variable, let source, let body, _) = first, source.type.entity != nil {
            var inner = scope
            inner.records[variable] = try record(source, scope)
            let path = inner.records[variable]
            switch (try value(body, inner), second) {
            case (.some(let members, let number, let test), .no) where members.record == path:
                return .some(members, variable: number, test)
            case (.every(let members, let number, let test), .yes) where members.record == path:
                return .every(members, variable: number, test)
            case (.count(let members, let number, let test), .constant(.int(0), _)) where members.record == path:
                return .count(members, variable: number, test)
            default: break
            }
        }
        return .coalesce(try value(first, scope), try value(second, scope))
    }

    private func compare(
        _ comparison: FilterExpression.Comparison,
        _ left: FuzzExpression,
        _ right: FuzzExpression,
        _ scope: Scope
    ) throws -> FilterExpression {
        if left.type.entity != nil {
            guard case .constant(.null, _) = right else { throw NoFilter() }
            let path = try record(left, scope)
            return comparison == .equal ? .not(.exists(path)) : .exists(path)
        }
        // An enum may have its own order.
        if case .value(.enumeration) = left.type.shape, comparison != .equal, comparison != .notEqual {
            throw NoFilter()
        }
        return .compare(comparison, try value(left, scope), try value(right, scope))
    }

    private func length(_ list: FuzzExpression, isEmpty: Bool, _ scope: Scope) throws -> FilterExpression {
        let length: FilterExpression
        if list.type.entity != nil {
            let (path, number, conditions) = try members(list, scope)
            length = .count(path, variable: number, .all(conditions))
        } else {
            length = .length(try value(list, scope))
        }
        return isEmpty ? .compare(.equal, length, .literal(.int(0))) : length
    }
}
