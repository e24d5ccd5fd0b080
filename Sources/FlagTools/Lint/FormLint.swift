import FeatureFlags

/// Checks that operators have the form that the official schema of rules requires.
///
/// What means something else than it seems to, such as a third argument of `==`, is an error. What works here but violates the schema, so that
/// editors and strict versions of flagd complain, is a warning.
struct FormLint {
    let reader: RuleReader
    let collector: LintCollector

    func check(_ operation: RuleReader.Operation, _ value: JSONNode) {
        if let form = OperatorForm.form(of: operation.name) {
            if let message = form.message(operation.name, count: operation.arguments.count) {
                let excess = form.maximum.flatMap { operation.arguments.dropFirst($0).first }
                collector.add(.arguments, message, at: excess?.range ?? operation.nameRange)
                return
            }
            if form.needsList, !isList(value) {
                add("the schema of flagd wants the arguments of \(quoted(operation.name)) in brackets", value.range)
            }
        }
        switch operation.name {
        case "?:": add("the schema of flagd does not know \"?:\"; write \"if\"", operation.nameRange)
        case "log":
            add("the schema of flagd does not know \"log\"; \"flags explain\" shows values", operation.nameRange)
        case "missing": checkPaths(operation.arguments, value)
        case "missing_some": checkMissingSome(operation)
        case "starts_with", "ends_with": checkReferences(operation)
        case "sem_ver": checkVersions(operation)
        case "fractional": checkBucketing(operation)
        default: break
        }
        for argument in operation.arguments { checkOperand(argument, operation) }
    }

    private func checkPaths(_ paths: [JSONNode], _ value: JSONNode) {
        guard isList(value), paths.allSatisfy({ if case .string = $0.value { true } else { false } }) else {
            add("the schema of flagd wants a list of texts after \"missing\"", value.range)
            return
        }
    }

    private func checkMissingSome(_ operation: RuleReader.Operation) {
        let (count, paths) = (operation.arguments[0], operation.arguments[1])
        if !Self.isNumber(count) {
            let canBe = reader.types(count)?.contains(.number) ?? true
            collector.add(
                .arguments,
                "\"missing_some\" begins with a number, of how many paths must be there",
                at: count.range,
                severity: canBe ? .warning : .error
            )
        }
        if case .array = paths.value { return }
        let canBe = reader.types(paths)?.contains(.array) ?? true
        collector.add(
            .arguments,
            "\"missing_some\" ends with a list of paths",
            at: paths.range,
            severity: canBe ? .warning : .error
        )
    }

    private func checkReferences(_ operation: RuleReader.Operation) {
        for argument in operation.arguments where reader.reference(argument) != nil {
            add("the schema of flagd wants a text or a rule here, not a \"$ref\"", argument.range)
        }
    }

    private func checkVersions(_ operation: RuleReader.Operation) {
        for index in [0, 2] {
            let argument = operation.arguments[index]
            guard case .object = argument.value, reader.operation(argument)?.name != "var" else { continue }
            add("the schema of flagd wants a version or a \"var\" here", argument.range)
        }
        let comparison = operation.arguments[1]
        if case .object = comparison.value {
            add("the schema of flagd wants the operator of \"sem_ver\" as a text", comparison.range)
        }
    }

    private func checkBucketing(_ operation: RuleReader.Operation) {
        guard let first = operation.arguments.first else { return }
        if reader.reference(first) != nil {
            add("the schema of flagd wants a rule here, not a \"$ref\"", first.range)
        } else if case .null = first.value {
            add(
                "\"fractional\" takes the targeting key for null; leave the null out, which the schema refuses",
                first.range
            )
        }
    }

    private static func isNumber(_ node: JSONNode) -> Bool {
        switch node.value {
        case .int, .double: true
        case .null, .bool, .string, .array, .object: false
        }
    }

    /// An object with several members or none is not a rule, and the schema does not allow it.
    private func checkOperand(_ node: JSONNode, _ operation: RuleReader.Operation) {
        guard case .object(let members) = node.value, members.count != 1 else { return }
        add(
            "an object of \(members.count) members is a value and not a rule; the schema of flagd refuses it",
            node.range
        )
    }

    private func isList(_ node: JSONNode) -> Bool {
        if case .array = reader.resolved(node).value { true } else { false }
    }

    private func add(_ message: String, _ range: Range<Int>) {
        collector.add(.arguments, message, at: range, severity: .warning)
    }
}
