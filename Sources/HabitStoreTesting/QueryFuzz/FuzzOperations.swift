import Foundation
import HabitStore

extension FuzzPredicateMaker {
    func operation(
        _ operation: FuzzOperation,
        _ operands: [FuzzExpression],
        _ type: FuzzType,
        _ scope: Scope
    ) throws -> FuzzNode {
        let nodes = try operands.map { try node($0, scope) }
        switch operation {
        case .and, .or: return try junction(nodes, isAnd: operation == .and)
        case .not: return not(try nodes[0].typed(Bool.self))
        case .conditional: return try conditional(nodes, try output(type))
        case .coalesce: return try coalesce(nodes, try output(type))
        case .forcedUnwrap: return try unwrap(nodes[0], try output(type))
        case .compare(.equal): return try equal(nodes, isNegated: false, try output(operands[0].type))
        case .compare(.notEqual): return try equal(nodes, isNegated: true, try output(operands[0].type))
        case .compare(let comparison): return try compare(comparison, nodes, try comparable(operands[0].type))
        case .order(let comparison): return try order(comparison, nodes, try output(operands[0].type))
        case .arithmetic(let operation) where type == .double: return try floating(operation, nodes)
        case .arithmetic(let operation): return try arithmetic(operation, nodes)
        case .negate where type == .double: return negate(try nodes[0].typed(Double.self))
        case .negate: return negate(try nodes[0].typed(Int.self))
        case .inRange(let isClosed, isCaptured: true):
            return try range(nodes[0], operands, isClosed: isClosed, try comparable(operands[0].type))
        case .inRange(let isClosed, isCaptured: false):
            return try range(nodes, isClosed: isClosed, try comparable(operands[0].type))
        case .inPartialRange(let range):
            return try partialRange(range, nodes[0], operands[1], try comparable(operands[0].type))
        case .isIn(let values, let isSet):
            return try isIn(nodes[0], values, isSet: isSet, operands[0].type, try output(operands[0].type))
        case .text(let test): return try text(test, nodes)
        case .caseOrder(let order, let isNegated): return try caseOrder(order, isNegated: isNegated, nodes)
        case .listBegins: return begins(try nodes[0].typed([String].self), try nodes[1].typed([String].self))
        case .listHasPart: return contains(try nodes[0].typed([String].self), try nodes[1].typed([String].self))
        case .matches(let regex): return try matches(try nodes[0].typed(String.self), regex)
        case .length, .isEmpty: return try measure(nodes[0], operands[0].type, isEmpty: operation == .isEmpty)
        case .first, .last, .element: return try pick(operation, nodes, try output(type.wrapped))
        case .least, .greatest, .hasElement: return try search(operation, nodes, operands[0].type)
        case .lookup(let dictionary): return try lookup(dictionary, nodes)
        case .rawValue: return try rawValue(nodes[0], operands[0].type)
        case .typeCheck(let desired), .conditionalCast(let desired), .forceCast(let desired):
            return try cast(operation, nodes[0], try output(operands[0].type), try output(desired))
        }
    }

    // MARK: Logic

    private func junction(_ nodes: [FuzzNode], isAnd: Bool) throws -> FuzzNode {
        guard let first = nodes.first else { return FuzzTypedNode<Bool>(PredicateExpressions.Value(isAnd)) }
        var joined = first
        for node in nodes.dropFirst() {
            let (left, right) = (try joined.typed(Bool.self), try node.typed(Bool.self))
            joined = join(left, right, isAnd: isAnd)
        }
        return joined
    }

    private func join(
        _ left: some StandardPredicateExpression<Bool>,
        _ right: some StandardPredicateExpression<Bool>,
        isAnd: Bool
    ) -> FuzzNode {
        isAnd
            ? take(PredicateExpressions.Conjunction(lhs: left, rhs: right))
            : take(PredicateExpressions.Disjunction(lhs: left, rhs: right))
    }

    private func not(_ node: some StandardPredicateExpression<Bool>) -> FuzzNode {
        take(PredicateExpressions.Negation(node))
    }

    private func conditional<T: FuzzOutput>(_ nodes: [FuzzNode], _ type: T.Type) throws -> FuzzNode {
        // Three operands would make too many types, so they are erased.
        let test = Erased(try nodes[0].typed(Bool.self))
        let branches = (Erased(try nodes[1].typed(T.self)), Erased(try nodes[2].typed(T.self)))
        return take(PredicateExpressions.Conditional(test: test, trueBranch: branches.0, falseBranch: branches.1))
    }

    private func coalesce<T: FuzzOutput>(_ nodes: [FuzzNode], _ type: T.Type) throws -> FuzzNode {
        func make(
            _ left: some StandardPredicateExpression<T?>,
            _ right: some StandardPredicateExpression<T>
        ) -> FuzzNode { take(PredicateExpressions.NilCoalesce(lhs: left, rhs: right)) }
        return make(try nodes[0].typed(T?.self), try nodes[1].typed(T.self))
    }

    private func unwrap<T: FuzzOutput>(_ node: FuzzNode, _ type: T.Type) throws -> FuzzNode {
        func make<L: StandardPredicateExpression>(_ inner: L) -> FuzzNode where L.Output == T? {
            take(PredicateExpressions.ForcedUnwrap<L, T>(inner))
        }
        return make(try node.typed(T?.self))
    }

    // MARK: Comparison

    private func equal<T: FuzzOutput>(_ nodes: [FuzzNode], isNegated: Bool, _ type: T.Type) throws -> FuzzNode {
        func make(_ left: some StandardPredicateExpression<T>, _ right: some StandardPredicateExpression<T>) -> FuzzNode
        {
            isNegated
                ? take(PredicateExpressions.NotEqual(lhs: left, rhs: right))
                : take(PredicateExpressions.Equal(lhs: left, rhs: right))
        }
        return make(try nodes[0].typed(T.self), try nodes[1].typed(T.self))
    }

    private func compare<T: FuzzOutput & Comparable>(
        _ comparison: FilterExpression.Comparison,
        _ nodes: [FuzzNode],
        _ type: T.Type
    ) throws -> FuzzNode {
        func make(_ left: some StandardPredicateExpression<T>, _ right: some StandardPredicateExpression<T>) -> FuzzNode
        {
            switch comparison {
            case .less, .equal, .notEqual:
                return take(PredicateExpressions.Comparison(lhs: left, rhs: right, op: .lessThan))
            case .lessOrEqual:
                return take(PredicateExpressions.Comparison(lhs: left, rhs: right, op: .lessThanOrEqual))
            case .greater: return take(PredicateExpressions.Comparison(lhs: left, rhs: right, op: .greaterThan))
            case .greaterOrEqual:
                return take(PredicateExpressions.Comparison(lhs: left, rhs: right, op: .greaterThanOrEqual))
            }
        }
        return make(try nodes[0].typed(T.self), try nodes[1].typed(T.self))
    }

    /// The order of filters, with the fuzzer's own comparison.
    private func order<T: FuzzOutput>(
        _ comparison: FilterExpression.Comparison,
        _ nodes: [FuzzNode],
        _ type: T.Type
    ) throws -> FuzzNode {
        let (left, right) = (try nodes[0].typed(T.self), try nodes[1].typed(T.self))
        return FuzzTypedNode<Bool>(
            FuzzComputation { bindings in
                let pair = (try FuzzOrder.value(left.evaluate(bindings)), try FuzzOrder.value(right.evaluate(bindings)))
                return FuzzOrder.holds(comparison, pair.0, pair.1)
            }
        )
    }

    private func range<T: FuzzOutput & Comparable>(
        _ element: FuzzNode,
        _ operands: [FuzzExpression],
        isClosed: Bool,
        _ type: T.Type
    ) throws -> FuzzNode {
        guard case .constant(let lower, _) = operands[1], case .constant(let upper, _) = operands[2] else {
            throw FuzzTypeMismatch(wanted: "constant bounds", found: "\(operands)")
        }
        let bounds = (try value(lower, T.self), try value(upper, T.self))
        guard bounds.0 <= bounds.1 else { throw FuzzTypeMismatch(wanted: "bounds in order", found: "\(operands)") }
        let element = try element.typed(T.self)
        return isClosed ? contained(element, bounds.0...bounds.1) : contained(element, bounds.0..<bounds.1)
    }

    /// Whether a value is in a captured range.
    private func contained<R: RangeExpression & Codable & Sendable>(
        _ element: some StandardPredicateExpression<R.Bound>,
        _ range: R
    ) -> FuzzNode {
        take(
            PredicateExpressions.RangeExpressionContains(range: PredicateExpressions.Value(range), element: element)
        )
    }

    private func range<T: FuzzOutput & Comparable>(_ nodes: [FuzzNode], isClosed: Bool, _ type: T.Type) throws
        -> FuzzNode
    {
        let element = Erased(try nodes[0].typed(T.self))
        let (lower, upper) = (Erased(try nodes[1].typed(T.self)), Erased(try nodes[2].typed(T.self)))
        let traps = { @Sendable (bindings: PredicateBindings) throws -> Bool in
            // Not `lower > upper`: NaN has no order.
            !(try lower.evaluate(bindings) <= upper.evaluate(bindings))
        }
        return isClosed
            ? take(
                PredicateExpressions.RangeExpressionContains(
                    range: PredicateExpressions.ClosedRange(lower: lower, upper: upper),
                    element: element
                ),
                unless: traps
            )
            : take(
                PredicateExpressions.RangeExpressionContains(
                    range: PredicateExpressions.Range(lower: lower, upper: upper),
                    element: element
                ),
                unless: traps
            )
    }

    private func partialRange<T: FuzzOutput & Comparable>(
        _ range: FuzzPartialRange,
        _ element: FuzzNode,
        _ bound: FuzzExpression,
        _ type: T.Type
    ) throws -> FuzzNode {
        guard case .constant(let constant, _) = bound else {
            throw FuzzTypeMismatch(wanted: "a constant bound", found: "\(bound)")
        }
        let bound = try value(constant, T.self)
        let element = Erased(try element.typed(T.self))
        switch range {
        case .from: return contained(element, bound...)
        case .through: return contained(element, ...bound)
        case .upTo: return contained(element, ..<bound)
        }
    }

    private func isIn<T: FuzzOutput>(
        _ element: FuzzNode,
        _ values: [Value],
        isSet: Bool,
        _ type: FuzzType,
        _ output: T.Type
    ) throws -> FuzzNode {
        if isSet, let hashable = output as? any (FuzzOutput & Hashable).Type {
            return try isInSet(element, values, hashable)
        }
        let members = try values.map { try value($0, T.self) }
        func make(_ element: some StandardPredicateExpression<T>) -> FuzzNode {
            take(PredicateExpressions.SequenceContains(sequence: PredicateExpressions.Value(members), element: element))
        }
        return make(try element.typed(T.self))
    }

    private func isInSet<T: FuzzOutput & Hashable>(
        _ element: FuzzNode,
        _ values: [Value],
        _ output: T.Type
    ) throws -> FuzzNode {
        let members = Set(try values.map { try value($0, T.self) })
        func make(_ element: some StandardPredicateExpression<T>) -> FuzzNode {
            take(PredicateExpressions.SequenceContains(sequence: PredicateExpressions.Value(members), element: element))
        }
        return make(try element.typed(T.self))
    }
}

extension FuzzPredicateMaker {
    // MARK: Numbers

    func arithmetic(_ operation: FilterExpression.Arithmetic, _ nodes: [FuzzNode]) throws -> FuzzNode {
        arithmetic(operation, try nodes[0].typed(Int.self), try nodes[1].typed(Int.self))
    }

    private func arithmetic(
        _ operation: FilterExpression.Arithmetic,
        _ left: some StandardPredicateExpression<Int>,
        _ right: some StandardPredicateExpression<Int>
    ) -> FuzzNode {
        let traps = { @Sendable (bindings: PredicateBindings) throws -> Bool in
            let (a, b) = (try left.evaluate(bindings), try right.evaluate(bindings))
            switch operation {
            case .add: return a.addingReportingOverflow(b).overflow
            case .subtract: return a.subtractingReportingOverflow(b).overflow
            case .multiply: return a.multipliedReportingOverflow(by: b).overflow
            case .divide: return a.dividedReportingOverflow(by: b).overflow
            case .remainder: return a.remainderReportingOverflow(dividingBy: b).overflow
            }
        }
        switch operation {
        case .add: return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .add), unless: traps)
        case .subtract:
            return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .subtract), unless: traps)
        case .multiply:
            return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .multiply), unless: traps)
        case .divide: return take(PredicateExpressions.IntDivision(lhs: left, rhs: right), unless: traps)
        case .remainder: return take(PredicateExpressions.IntRemainder(lhs: left, rhs: right), unless: traps)
        }
    }

    func floating(_ operation: FilterExpression.Arithmetic, _ nodes: [FuzzNode]) throws -> FuzzNode {
        floating(operation, try nodes[0].typed(Double.self), try nodes[1].typed(Double.self))
    }

    private func floating(
        _ operation: FilterExpression.Arithmetic,
        _ left: some StandardPredicateExpression<Double>,
        _ right: some StandardPredicateExpression<Double>
    ) -> FuzzNode {
        switch operation {
        case .add: return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .add))
        case .subtract: return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .subtract))
        case .multiply: return take(PredicateExpressions.Arithmetic(lhs: left, rhs: right, op: .multiply))
        case .divide: return take(PredicateExpressions.FloatDivision(lhs: left, rhs: right))
        case .remainder:
            return FuzzTypedNode<Double>(
                FuzzComputation { try left.evaluate($0).truncatingRemainder(dividingBy: right.evaluate($0)) }
            )
        }
    }

    func negate(_ node: some StandardPredicateExpression<Double>) -> FuzzNode {
        take(PredicateExpressions.UnaryMinus(node))
    }

    func negate(_ node: some StandardPredicateExpression<Int>) -> FuzzNode {
        take(PredicateExpressions.UnaryMinus(node)) { try node.evaluate($0) == Int.min }
    }

    // MARK: Text

    func text(_ test: FilterExpression.TextTest, _ nodes: [FuzzNode]) throws -> FuzzNode {
        let (text, part) = (try nodes[0].typed(String.self), try nodes[1].typed(String.self))
        switch test {
        case .contains: return contains(text, part)
        case .beginsWith: return begins(text, part)
        case .endsWith:
            return FuzzTypedNode<Bool>(
                FuzzComputation { bindings in
                    let (text, part) = (Array(try text.evaluate(bindings)), Array(try part.evaluate(bindings)))
                    return Array(text.suffix(part.count)) == part
                }
            )
        case .searches: return search(text, part)
        }
    }

    private func search(
        _ text: some StandardPredicateExpression<String>,
        _ part: some StandardPredicateExpression<String>
    ) -> FuzzNode { take(PredicateExpressions.StringLocalizedStandardContains(root: text, other: part)) }

    func caseOrder(_ order: ComparisonResult, isNegated: Bool, _ nodes: [FuzzNode]) throws -> FuzzNode {
        let (left, right) = (Erased(try nodes[0].typed(String.self)), Erased(try nodes[1].typed(String.self)))
        let compared = PredicateExpressions.StringCaseInsensitiveCompare(root: left, other: right)
        let constant = PredicateExpressions.Value(order)
        return isNegated
            ? take(PredicateExpressions.NotEqual(lhs: compared, rhs: constant))
            : take(PredicateExpressions.Equal(lhs: compared, rhs: constant))
    }

    func contains<C: Collection>(
        _ base: some StandardPredicateExpression<C>,
        _ part: some StandardPredicateExpression<C>
    ) -> FuzzNode where C.Element: Equatable {
        take(PredicateExpressions.CollectionContainsCollection(base: base, other: part))
    }

    func begins<C: Collection>(
        _ base: some StandardPredicateExpression<C>,
        _ part: some StandardPredicateExpression<C>
    ) -> FuzzNode where C.Element: Equatable {
        take(PredicateExpressions.SequenceStartsWith(base: base, prefix: part))
    }

    func matches(_ text: some StandardPredicateExpression<String>, _ regex: FuzzRegex) throws -> FuzzNode {
        guard let regex = PredicateExpressions.PredicateRegex(try Regex(regex.rawValue)) else {
            throw FuzzTypeMismatch(wanted: "a regular expression", found: regex.rawValue)
        }
        return take(PredicateExpressions.StringContainsRegex(subject: text, regex: PredicateExpressions.Value(regex)))
    }

    // MARK: Lists

    func measure(_ node: FuzzNode, _ type: FuzzType, isEmpty: Bool) throws -> FuzzNode {
        switch type.shape {
        case .value(.string): return measure(try node.typed(String.self), isEmpty: isEmpty)
        case .value(.data): return measure(try node.typed(Data.self), isEmpty: isEmpty)
        case .value(.strings): return measure(try node.typed([String].self), isEmpty: isEmpty)
        case .value(.links): return measure(try node.typed(Set<UUID>.self), isEmpty: isEmpty)
        case .records(let entity): return try measureRecords(node, schema.entities[entity].modelType, isEmpty: isEmpty)
        case .value, .record: throw FuzzTypeMismatch(wanted: "a list", found: "\(type)")
        }
    }

    private func measureRecords<M: PersistentModel>(_ node: FuzzNode, _ type: M.Type, isEmpty: Bool) throws -> FuzzNode
    {
        measure(try node.typed([M].self), isEmpty: isEmpty)
    }

    private func measure<C: Collection>(_ node: some StandardPredicateExpression<C>, isEmpty: Bool) -> FuzzNode {
        isEmpty
            ? take(PredicateExpressions.KeyPath(root: node, keyPath: \C.isEmpty))
            : take(PredicateExpressions.KeyPath(root: node, keyPath: \C.count))
    }

    func pick<E: FuzzOutput>(_ operation: FuzzOperation, _ nodes: [FuzzNode], _ element: E.Type) throws -> FuzzNode {
        func make(_ list: some StandardPredicateExpression<[E]>) throws -> FuzzNode {
            switch operation {
            case .first: return take(PredicateExpressions.KeyPath(root: list, keyPath: \[E].first))
            case .last: return take(PredicateExpressions.KeyPath(root: list, keyPath: \[E].last))
            default: return subscripting(list, try nodes[1].typed(Int.self))
            }
        }
        return try make(try nodes[0].typed([E].self))
    }

    private func subscripting<E>(
        _ list: some StandardPredicateExpression<[E]>,
        _ index: some StandardPredicateExpression<Int>
    ) -> FuzzNode { take(PredicateExpressions.CollectionIndexSubscript(wrapped: list, index: index)) }

    func search(_ operation: FuzzOperation, _ nodes: [FuzzNode], _ type: FuzzType) throws -> FuzzNode {
        type == .links
            ? try search(operation, nodes, try nodes[0].typed(Set<UUID>.self))
            : try search(operation, nodes, try nodes[0].typed([String].self))
    }

    private func search<S: Sequence>(
        _ operation: FuzzOperation,
        _ nodes: [FuzzNode],
        _ list: some StandardPredicateExpression<S>
    ) throws -> FuzzNode where S.Element: Comparable {
        func contains(_ element: some StandardPredicateExpression<S.Element>) -> FuzzNode {
            take(PredicateExpressions.SequenceContains(sequence: list, element: element))
        }
        switch operation {
        case .least: return take(PredicateExpressions.SequenceMinimum(elements: list))
        case .greatest: return take(PredicateExpressions.SequenceMaximum(elements: list))
        default: return contains(try nodes[1].typed(S.Element.self))
        }
    }

    func lookup(_ dictionary: [String: Int], _ nodes: [FuzzNode]) throws -> FuzzNode {
        let constant = PredicateExpressions.Value(dictionary)
        let key = Erased(try nodes[0].typed(String.self))
        guard nodes.count > 1 else {
            return take(PredicateExpressions.DictionaryKeySubscript(wrapped: constant, key: key))
        }
        return take(
            PredicateExpressions.DictionaryKeyDefaultValueSubscript(
                wrapped: constant,
                key: key,
                default: Erased(try nodes[1].typed(Int.self))
            )
        )
    }

    // MARK: Types

    func rawValue(_ node: FuzzNode, _ type: FuzzType) throws -> FuzzNode {
        guard case .enumeration(let custom)? = type.scalar, let type = custom.type as? any AttributeEnum.Type else {
            throw FuzzTypeMismatch(wanted: "an enum", found: "\(type)")
        }
        return try rawValue(node, type)
    }

    private func rawValue<E: AttributeEnum>(_ node: FuzzNode, _ type: E.Type) throws -> FuzzNode {
        keyPathNode(try node.typed(E.self), \E.rawValue)
    }

    func cast<I: FuzzOutput, D: FuzzOutput>(
        _ operation: FuzzOperation,
        _ node: FuzzNode,
        _ input: I.Type,
        _ desired: D.Type
    ) throws -> FuzzNode {
        let input = Erased(try node.typed(I.self))
        switch operation {
        case .typeCheck: return take(PredicateExpressions.TypeCheck<Erased<I>, D>(input))
        case .conditionalCast: return take(PredicateExpressions.ConditionalCast<Erased<I>, D>(input))
        default: return take(PredicateExpressions.ForceCast<Erased<I>, D>(input))
        }
    }
}
