import FeatureFlags
import JSONText

/// Checks each operator of a rule separately: its name, its arguments, and its references.
struct OperatorLint {
    let reader: RuleReader
    let collector: LintCollector
    let references: ReferenceList
    /// The evaluator that is being checked; nil for a flag's own rule.
    var evaluator: String?
    /// The variables of the file.
    var variables: VariableList

    /// - Parameter scope: What `var` reads; nil for the context.
    func visit(_ node: JSONNode, _ scope: RuleOperator.ElementScope? = nil) {
        let mistake = RuleMistake(in: node, of: evaluator, evaluators: reader.document.evaluators)
        if evaluator == nil, let (name, _) = node.reference { references.add(name) }
        if let mistake {
            report(mistake)
            return
        }
        switch node.ruleForm {
        case .value, .reference: break
        case .list(let elements):
            for element in elements { visit(element, scope) }
        case .operation(let member):
            visitArguments(member, scope)
            guard let operation = reader.operation(node) else { return }
            check(operation, member.value, scope)
        }
    }

    private func report(_ mistake: RuleMistake) {
        var message = mistake.message
        let rule: LintRule
        switch mistake.kind {
        case .misplacedOperator: rule = .schema
        case .unknownOperator:
            rule = .unknownOperator
            if let meant = NearMiss.nearest(to: mistake.name, among: OperatorTable.names) {
                message = "the operator \(quoted(mistake.name)) is not known; did you mean \(quoted(meant))?"
            }
        case .malformedReference, .nestedReference: rule = .unknownReference
        case .unknownReference:
            rule = .unknownReference
            message += reader.question(mistake.name, among: reader.document.evaluators.keys, at: mistake.range)
        }
        collector.add(rule, message, at: mistake.range)
    }

    /// The rule for the elements of a list reads these and not the context.
    private func visitArguments(_ member: JSONMember, _ scope: RuleOperator.ElementScope?) {
        guard case .array(let arguments) = member.value.value else {
            visit(member.value, scope)
            return
        }
        let row = OperatorTable.row(member.key)
        for (index, argument) in arguments.enumerated() {
            visit(argument, row?.elementScope(ofArgument: index) ?? scope)
        }
    }

    private func check(_ operation: RuleReader.Operation, _ value: JSONNode, _ scope: RuleOperator.ElementScope?) {
        FormLint(reader: reader, collector: collector).check(operation, value)
        ComparisonLint(reader: reader, collector: collector).check(operation)
        switch operation.name {
        case "var": checkVariable(operation, scope)
        case "if", "?:":
            checkIf(operation)
            checkEqualBranches(operation)
        case "==", "!=", "===", "!==": checkEquality(operation)
        case "in": checkIn(operation)
        case "sem_ver": checkVersions(operation)
        case "starts_with", "ends_with": checkAffix(operation)
        case "fractional": _ = FractionalLint(reader: reader, collector: collector).check(operation)
        default: break
        }
    }

    private func checkVariable(_ operation: RuleReader.Operation, _ scope: RuleOperator.ElementScope?) {
        guard let first = operation.arguments.first else { return }
        guard case .string(let path) = first.value else {
            if operation.arguments.count > 1 || first.isObject {
                collector.add(
                    .arguments,
                    "the path of this \"var\" is not a literal text; it cannot be checked, and the schema of flagd refuses it",
                    at: first.range,
                    severity: .warning
                )
            }
            return
        }
        switch scope {
        case nil: variables.add(path, first.range)
        case .element?: if path.hasPrefix("$flagd.") { variables.add(path, first.range) }
        case .reduction?: variables.checkReduction(path, first.range)
        }
    }

    /// Finds a last condition that decides nothing, because its branch equals the else branch.
    private func checkEqualBranches(_ operation: RuleReader.Operation) {
        let arguments = operation.arguments
        guard arguments.count >= 3, arguments.count % 2 == 1,
            reader.work.spend(arguments[arguments.count - 1].range.count / 8, at: operation.nameRange),
            arguments[arguments.count - 2].flagValue == arguments[arguments.count - 1].flagValue
        else { return }
        collector.add(
            .equalBranches,
            "this is what the branch before it gives too; its condition decides nothing",
            at: arguments[arguments.count - 1].range
        )
    }

    /// Finds constant and repeated conditions. A condition with another finding, such as an empty list, is not reported again.
    private func checkIf(_ operation: RuleReader.Operation) {
        var earlier: Set<FlagValue> = []
        var isDecided = false
        for index in stride(from: 0, to: operation.arguments.count - 1, by: 2) {
            let condition = operation.arguments[index]
            if isDecided {
                addUnreachable(condition.range)
                return
            }
            guard reader.work.spend(condition.range.count / 8, at: condition.range) else { return }
            if !earlier.insert(condition.flagValue).inserted {
                collector.add(
                    .unreachableBranch,
                    "this condition was asked before; its branch is never reached",
                    at: condition.range
                )
            }
            switch reader.truth(condition) {
            case false? where !collector.hasFinding(in: condition.range):
                collector.add(
                    .constantCondition,
                    "this condition is never true; its branch is never reached",
                    at: condition.range
                )
            case true?: isDecided = true
            case false?, nil: break
            }
        }
        if isDecided, operation.arguments.count % 2 == 1, let last = operation.arguments.last {
            addUnreachable(last.range)
        }
    }

    private func addUnreachable(_ range: Range<Int>) {
        collector.add(
            .unreachableBranch,
            "this is never reached: a condition before it is always true",
            at: range
        )
    }

    private func checkEquality(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 2, let left = reader.types(operation.arguments[0]),
            let right = reader.types(operation.arguments[1])
        else { return }
        let types = (left.subtracting([.null]), right.subtracting([.null]))
        // Comparing with null tests whether a value exists.
        guard !types.0.isEmpty, !types.1.isEmpty, types.0.isDisjoint(with: types.1) else { return }
        collector.add(
            .typeMismatch,
            "this compares \(Self.text(types.0)) with \(Self.text(types.1))",
            at: operation.nameRange
        )
    }

    private static func text(_ types: Set<RuleReader.ResultType>) -> String {
        types.map { $0 == .array || $0 == .object ? "an \($0.rawValue)" : "a \($0.rawValue)" }.sorted()
            .joined(separator: " or ")
    }

    private func checkIn(_ operation: RuleReader.Operation) {
        guard operation.arguments.count > 1 else { return }
        guard let haystack = reader.constant(operation.arguments[1]) else { return }
        let range = operation.arguments[1].range
        switch haystack {
        case .list(let elements):
            if elements.isEmpty {
                collector.add(.emptyList, "nothing is in an empty list", at: range)
            } else if let types = reader.types(operation.arguments[0])?.subtracting([.null]), !types.isEmpty,
                !elements.contains(where: { element in types.contains { $0.rawValue == element.typeName } })
            {
                collector.add(
                    .typeMismatch,
                    "this looks for \(Self.text(types)), and the list has none; values are not converted here",
                    at: range
                )
            }
        case .string(let text):
            if text.isEmpty { collector.add(.emptyList, "nothing is in an empty text", at: range) }
        case .null, .bool, .int, .double, .object:
            collector.add(
                .arguments,
                "\"in\" looks into a list or a text, not a value of type \(haystack.typeName)",
                at: range
            )
        }
    }

    private func checkVersions(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 3 else { return }
        for index in [0, 2] {
            let node = operation.arguments[index]
            guard let value = reader.constant(node) else { continue }
            guard SemanticVersion(value) != nil else {
                collector.add(.invalidVersion, "this is not a version; write it as 1.2.3", at: node.range)
                continue
            }
            checkForm(of: value, node)
        }
        if let comparison = reader.constant(operation.arguments[1]), !RuleReader.isVersionComparison(comparison) {
            collector.add(
                .invalidVersion,
                "this is not an operator of \"sem_ver\"; there are = != < <= > >= ~ ^",
                at: operation.arguments[1].range
            )
        }
    }

    /// Checks a version that is accepted here but that the schema refuses.
    private func checkForm(of version: FlagValue, _ node: JSONNode) {
        guard case .string(let text) = version else {
            collector.add(
                .invalidVersion,
                "a version is a text; the number 2.10 is 2.1",
                at: node.range,
                severity: .warning
            )
            return
        }
        let core = text.prefix { $0 != "-" && $0 != "+" }
        guard core.first?.isNumber != true || core.split(separator: ".").count != 3 else { return }
        collector.add(
            .invalidVersion,
            "the schema of flagd wants a version as 1.2.3, without a \"v\" and with all three numbers",
            at: node.range,
            severity: .warning
        )
    }

    private func checkAffix(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 2,
            let bad = operation.arguments.first(where: { reader.types($0).map { !$0.contains(.string) } ?? false })
        else { return }
        collector.add(
            .arguments,
            "\(quoted(operation.name)) takes two texts; with anything else it gives null",
            at: bad.range
        )
    }
}

/// The evaluators that flags refer to.
final class ReferenceList {
    private(set) var names: Set<String> = []

    func add(_ name: String) { names.insert(name) }
}
