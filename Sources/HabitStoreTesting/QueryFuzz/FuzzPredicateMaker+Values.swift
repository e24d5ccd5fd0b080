import Foundation
import HabitStore

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
