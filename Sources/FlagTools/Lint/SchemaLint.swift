import FeatureFlags
import JSONText

/// Checks the form of a flag file: its members and their types.
struct SchemaLint {
    let document: FlagDocument
    let collector: LintCollector

    private static let fileMembers: Set<String> = ["flags", "metadata", "$evaluators", "$schema"]
    private static let flagMembers: Set<String> = ["state", "variants", "defaultVariant", "targeting", "metadata"]

    func run() {
        addParserWarnings()
        guard case .object(let members) = document.root.value else {
            collector.add(
                .schema,
                "a flag file must be an object, not of type \(document.root.typeName)",
                at: document.root.range
            )
            return
        }
        for member in members where !Self.fileMembers.contains(member.key) {
            collector.add(
                .unknownMember,
                "a flag file has no member \(quoted(member.key)); it is ignored"
                    + NearMiss.question(member.key, among: Self.fileMembers.sorted()),
                at: member.keyRange
            )
        }
        if let member = document.root.member("metadata") { checkMetadata(member.value) }
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
        let node = flag.node
        guard case .object(let members) = node.value else {
            collector.add(.schema, "a flag must be an object, not of type \(node.typeName)", at: node.range)
            return
        }
        let isElement = flag.path.last.map { if case .element = $0 { true } else { false } } ?? false
        for member in members where !Self.flagMembers.contains(member.key) && !(isElement && member.key == "key") {
            collector.add(
                .unknownMember,
                "a flag has no member \(quoted(member.key)); it is ignored"
                    + NearMiss.question(member.key, among: Self.flagMembers.sorted()),
                at: member.keyRange
            )
        }
        if let member = node.member("metadata") { checkMetadata(member.value) }
        checkState(flag)
        let variants = checkVariants(flag)
        checkDefaultVariant(flag, variants)
        checkTargeting(flag)
    }

    private func checkState(_ flag: FlagDocument.Flag) {
        guard let member = flag.node.member("state") else {
            collector.add(.schema, "the flag has no \"state\"; write \"ENABLED\" or \"DISABLED\"", at: flag.keyRange)
            return
        }
        guard case .string(let text) = member.value.value, text == "ENABLED" || text == "DISABLED" else {
            collector.add(.schema, "the \"state\" must be \"ENABLED\" or \"DISABLED\"", at: member.value.range)
            return
        }
        guard text == "DISABLED", let targeting = flag.node.member("targeting") else { return }
        if case .object(let members) = targeting.value.value, !members.isEmpty {
            collector.add(
                .disabledTargeting,
                "the flag \(quoted(flag.key)) is disabled, and its targeting is not asked",
                at: targeting.keyRange
            )
        }
    }

    private func checkVariants(_ flag: FlagDocument.Flag) -> Set<String>? {
        guard let member = flag.node.member("variants") else {
            collector.add(.schema, "the flag has no \"variants\"", at: flag.keyRange)
            return nil
        }
        guard case .object(let members) = member.value.value, let first = members.first else {
            collector.add(
                .schema,
                "the \"variants\" must be an object with at least one member",
                at: member.value.range
            )
            return nil
        }
        for variant in members {
            let type = variant.value.typeName
            if !["boolean", "string", "number", "object"].contains(type) {
                collector.add(
                    .schema,
                    "a variant must be a boolean, string, number or object, not \(type)",
                    at: variant.value.range
                )
            } else if type != first.value.typeName {
                collector.add(
                    .schema,
                    "all variants of a flag must be of one type: \(quoted(first.key)) is of type "
                        + "\(first.value.typeName), and \(quoted(variant.key)) of type \(type)",
                    at: variant.value.range
                )
            }
        }
        return Set(members.map(\.key))
    }

    private func checkDefaultVariant(_ flag: FlagDocument.Flag, _ variants: Set<String>?) {
        guard let member = flag.node.member("defaultVariant") else { return }
        switch member.value.value {
        case .null: break
        case .string(let name):
            guard let variants, !variants.contains(name), !name.isEmpty else { return }
            collector.add(
                .schema,
                "the \"defaultVariant\" \(quoted(name)) is not one of the variants"
                    + NearMiss.question(name, among: variants.sorted()),
                at: member.value.range
            )
        default:
            collector.add(
                .schema,
                "the \"defaultVariant\" must be the name of a variant, or null",
                at: member.value.range
            )
        }
    }

    private func checkTargeting(_ flag: FlagDocument.Flag) {
        guard let member = flag.node.member("targeting") else { return }
        switch member.value.value {
        case .null:
            collector.add(
                .schema,
                "the schema of flagd refuses a \"targeting\" of null; leave it out",
                at: member.value.range,
                severity: .warning
            )
        case .object(let members) where members.count <= 1: break
        case .object:
            collector.add(
                .schema,
                "the \"targeting\" must hold one operator, and holds more members",
                at: member.value.range
            )
        default:
            collector.add(
                .schema,
                "the \"targeting\" must be an object with one operator, not of type \(member.value.typeName)",
                at: member.value.range
            )
        }
    }

    private func checkMetadata(_ node: JSONNode) {
        guard case .object(let members) = node.value else {
            collector.add(.metadata, "the \"metadata\" must be an object; it is ignored", at: node.range)
            return
        }
        for member in members {
            switch member.value.value {
            case .double(let number) where !number.isFinite:
                collector.add(
                    .metadata,
                    "the metadata \(quoted(member.key)) is ignored: \(JSONNode.unusableNumberMessage)",
                    at: member.value.range
                )
            case .bool, .int, .double, .string: break
            case .null, .array, .object:
                collector.add(
                    .metadata,
                    "the metadata \(quoted(member.key)) must be a string, number or boolean; it is ignored",
                    at: member.value.range
                )
            }
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
            if let message = arity.message(operation.name, count: operation.arguments.count) {
                let excess = arity.maximum.flatMap { operation.arguments.dropFirst($0).first }
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
        for argument in operation.arguments where argument.reference != nil {
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
        if first.reference != nil {
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

extension RuleOperator.Arity {
    /// Why a number of arguments is wrong; nil if it is not.
    func message(_ name: String, count: Int) -> String? {
        if count >= minimum, maximum.map({ count <= $0 }) ?? true { return nil }
        let found = count == 0 ? "none stand here" : count == 1 ? "one stands here" : "\(count) stand here"
        return "\(quoted(name)) takes \(expected), and \(found)"
    }

    private var expected: String {
        func arguments(_ count: Int) -> String { count == 1 ? "1 argument" : "\(count) arguments" }
        guard let maximum else { return "at least \(arguments(minimum))" }
        if minimum == maximum { return "exactly \(arguments(minimum))" }
        return "\(minimum) \(maximum == minimum + 1 ? "or" : "to") \(maximum) arguments"
    }
}
