import FeatureFlags
import JSONText

/// Checks the form of a flag file: its members and their types.
struct SchemaLint {
    let document: FlagDocument
    let collector: LintCollector

    func run() {
        addParserWarnings()
        add(FlagForm.problems(ofFile: document.root))
        guard document.root.isObject else { return }
        if let member = document.root.member("$evaluators"), !member.value.isObject {
            collector.add(
                .schema,
                "the \"$evaluators\" must be an object, not of type \(member.value.typeName)",
                at: member.value.range
            )
        }
        guard let flags = document.root.member("flags") else {
            collector.add(.schema, "the file has no \"flags\"", at: document.root.range)
            return
        }
        checkFlags(flags.value)
        for flag in document.flags { checkFlag(flag) }
    }

    /// Adds the parser's warnings; the position of each shows its kind.
    private func addParserWarnings() {
        if document.source.hadByteOrderMark {
            collector.add(
                .encoding,
                "the file begins with a byte order mark, which flagd refuses; remove it",
                at: 0..<0
            )
        }
        for warning in document.warnings {
            let offset = document.source.offset(line: warning.location.line ?? 1, column: warning.location.column ?? 1)
            let isKey = offset < document.source.bytes.count && document.source.bytes[offset] == UInt8(ascii: "\"")
            collector.add(LintFinding(isKey ? .duplicateKey : .encoding, warning.message, at: warning.location))
        }
    }

    private func checkFlags(_ node: JSONNode) {
        switch node.value {
        case .object:
            break
        case .array(let elements):
            if elements.isEmpty {
                collector.add(
                    .schema,
                    "the \"flags\" are an empty list, which the schema of flagd refuses; write {} for none",
                    at: node.range,
                    severity: .warning
                )
            }
            var known: Set<String> = []
            for element in elements {
                guard let member = element.member("key"), case .string(let key) = member.value.value else {
                    collector.add(.schema, "a flag of an array must be an object with a \"key\"", at: element.range)
                    continue
                }
                if !known.insert(key).inserted {
                    collector.add(
                        .duplicateKey,
                        "the flag \(quoted(key)) occurs twice; the last one counts",
                        at: member.value.range
                    )
                }
            }
        default:
            collector.add(
                .schema,
                "the \"flags\" must be an object or an array, not of type \(node.typeName)",
                at: node.range
            )
        }
    }

    private func checkFlag(_ flag: FlagDocument.Flag) {
        let isElement = flag.path.last.map { if case .element = $0 { true } else { false } } ?? false
        add(FlagForm.problems(ofFlag: flag.node, keyRange: flag.keyRange, allowsKey: isElement))
        guard FlagForm.isDisabled(flag.node), let targeting = flag.node.member("targeting"),
            case .object(let members) = targeting.value.value, !members.isEmpty
        else { return }
        collector.add(
            .disabledTargeting,
            "the flag \(quoted(flag.key)) is disabled, and its targeting is not asked",
            at: targeting.keyRange
        )
    }

    private func add(_ problems: [FormProblem]) {
        for problem in problems {
            let (rule, severity): (LintRule, LintFinding.Severity?)
            switch problem.kind {
            case .unusable: (rule, severity) = (.schema, nil)
            case .refusedBySchema: (rule, severity) = (.schema, .warning)
            case .unknownMember: (rule, severity) = (.unknownMember, nil)
            case .metadata: (rule, severity) = (.metadata, nil)
            // The linter compiles the flags, too.
            case .number: continue
            }
            collector.add(rule, problem.lintMessage, at: problem.range, severity: severity)
        }
    }
}

/// Checks that operators have the form that the official schema of rules requires.
///
/// What means something else than it seems to, such as a third argument of `==`, is an error. What works here but violates the schema, so that
/// editors and strict versions of flagd complain, is a warning.
struct FormLint {
    let reader: RuleReader
    let collector: LintCollector

    func check(_ operation: RuleReader.Operation, _ value: JSONNode) {
        if let row = operation.row, let arity = row.arity {
            if let message = row.message(count: operation.arguments.count) {
                let excess = operation.arguments.dropFirst(arity.upperBound).first
                collector.add(.arguments, message, at: excess?.range ?? operation.nameRange)
                return
            }
            if !row.takesBareArgument, !isList(value) {
                add("the schema of flagd wants the arguments of \(quoted(operation.name)) in brackets", value.range)
            }
        }
        switch operation.name {
        case "?:": add("the schema of flagd does not know \"?:\"; write \"if\"", operation.nameRange)
        case "log":
            add("the schema of flagd does not know \"log\"; \"flags explain\" shows values", operation.nameRange)
        case "missing": checkPaths(operation.arguments, value)
        case "missing_some": checkMissingSome(operation)
        default: break
        }
        for (index, argument) in operation.arguments.enumerated() {
            if let message = schemaMessage(operation.name, index, argument) { add(message, argument.range) }
            checkOperand(argument)
        }
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

    /// Why flagd's schema refuses an argument that works here; nil if it does not.
    private func schemaMessage(_ name: String, _ index: Int, _ argument: JSONNode) -> String? {
        switch (name, index) {
        case ("starts_with", _), ("ends_with", _):
            guard argument.reference != nil else { return nil }
            return "the schema of flagd wants a text or a rule here, not a \"$ref\""
        case ("sem_ver", 1):
            return argument.isObject ? "the schema of flagd wants the operator of \"sem_ver\" as a text" : nil
        case ("sem_ver", _):
            guard argument.isObject, reader.operation(argument)?.name != "var" else { return nil }
            return "the schema of flagd wants a version or a \"var\" here"
        case ("fractional", 0):
            if argument.reference != nil { return "the schema of flagd wants a rule here, not a \"$ref\"" }
            guard case .null = argument.value else { return nil }
            return "\"fractional\" takes the targeting key for null; leave the null out, which the schema refuses"
        default:
            return nil
        }
    }

    private static func isNumber(_ node: JSONNode) -> Bool {
        switch node.value {
        case .int, .double: true
        case .null, .bool, .string, .array, .object: false
        }
    }

    /// An object with several members or none is not a rule, and the schema does not allow it.
    private func checkOperand(_ node: JSONNode) {
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

extension RuleOperator {
    /// Why a number of arguments is wrong; nil if it is not.
    fileprivate func message(count: Int) -> String? {
        guard let arity, !arity.contains(count) else { return nil }
        let found = count == 0 ? "none stand here" : count == 1 ? "one stands here" : "\(count) stand here"
        return "\(quoted(name)) takes \(Self.text(arity)), and \(found)"
    }

    private static func text(_ arity: ClosedRange<Int>) -> String {
        func arguments(_ count: Int) -> String { count == 1 ? "1 argument" : "\(count) arguments" }
        let (minimum, maximum) = (arity.lowerBound, arity.upperBound)
        if maximum == .max { return "at least \(arguments(minimum))" }
        if minimum == maximum { return "exactly \(arguments(minimum))" }
        return "\(minimum) \(maximum == minimum + 1 ? "or" : "to") \(maximum) arguments"
    }
}
