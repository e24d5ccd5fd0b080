import FeatureFlags
import JSONText

/// Checks a flag's targeting as a whole: its possible results, and whether the flag has them as variants.
struct TargetingLint {
    private let flag: FlagDocument.Flag
    private let reader: RuleReader
    private let collector: LintCollector
    private let references: ReferenceList
    private let variables: VariableList
    private let variants: Set<String>
    private var canChoose = false
    /// The percentages that the targeting can use.
    private(set) var splits: [FractionalSplit] = []

    init(
        flag: FlagDocument.Flag,
        reader: RuleReader,
        collector: LintCollector,
        references: ReferenceList,
        variables: VariableList
    ) {
        self.flag = flag
        self.reader = reader
        self.collector = collector
        self.references = references
        self.variables = variables
        if case .object(let members)? = flag.node.member("variants")?.value.value {
            variants = Set(members.map(\.key))
        } else {
            variants = []
        }
    }

    mutating func run() {
        guard let targeting = flag.node.member("targeting"), case .object(let members) = targeting.value.value,
            members.count == 1
        else { return }
        OperatorLint(reader: reader, collector: collector, references: references, variables: variables)
            .visit(targeting.value)
        checkResult(targeting.value)
        if !canChoose {
            collector.add(
                .neverMatches,
                "the targeting of \(quoted(flag.key)) never chooses a variant; the default is always served",
                at: targeting.keyRange
            )
        }
    }

    private mutating func checkResult(_ node: JSONNode) {
        let node = reader.resolved(node)
        switch node.value {
        case .null:
            return
        case .string(let name):
            checkVariant(name, node)
        case .bool(let value):
            checkVariant(value ? "true" : "false", node)
        case .int, .double, .array:
            addUnusable(node)
        case .object:
            guard let operation = reader.operation(node) else {
                if node.reference == nil { addUnusable(node) } else { canChoose = true }
                return
            }
            checkResult(of: operation, node)
        }
    }

    private mutating func checkResult(of operation: RuleReader.Operation, _ node: JSONNode) {
        switch operation.name {
        case "if", "?:":
            checkBranches(operation.arguments)
        case "fractional":
            guard let split = FractionalLint(reader: reader, collector: nil).check(operation) else { return }
            splits.append(split)
            for entry in split.entries where entry.weight != 0 { checkResult(entry.node) }
        case "and", "or":
            // Any operand can be the result; one that is not a literal is usually a condition.
            canChoose = true
            if let last = operation.arguments.last { checkResult(last) }
        default:
            checkTypes(operation, node)
        }
    }

    private mutating func checkBranches(_ arguments: [JSONNode]) {
        for index in stride(from: 0, to: arguments.count - 1, by: 2) {
            switch reader.truth(arguments[index]) {
            case false?: continue
            case true?:
                checkResult(arguments[index + 1])
                return
            case nil: checkResult(arguments[index + 1])
            }
        }
        if arguments.count % 2 == 1, let last = arguments.last { checkResult(last) }
    }

    private mutating func checkTypes(_ operation: RuleReader.Operation, _ node: JSONNode) {
        canChoose = true
        guard let types = reader.types(node) else { return }
        if types.isDisjoint(with: [.string, .boolean]) {
            addUnusable(node)
        } else if types.contains(.boolean) {
            let missing = ["true", "false"].filter { !variants.contains($0) }
            guard !missing.isEmpty else { return }
            collector.add(
                .unknownVariant,
                "\(quoted(operation.name)) gives true or false here, and the flag \(quoted(flag.key)) has no variant "
                    + missing.map { quoted($0) }.joined(separator: " and ") + "; put it into an \"if\"",
                at: operation.nameRange
            )
        }
    }

    private mutating func checkVariant(_ name: String, _ node: JSONNode) {
        canChoose = true
        guard !variants.contains(name) else { return }
        collector.add(
            .unknownVariant,
            "\(quoted(name)) is not a variant of the flag \(quoted(flag.key)); users who get it are served the caller's default"
                + reader.question(name, among: variants, at: node.range),
            at: node.range
        )
    }

    private mutating func addUnusable(_ node: JSONNode) {
        canChoose = true
        collector.add(
            .unknownVariant,
            "the targeting can give a value here that is not the name of a variant",
            at: node.range
        )
    }
}

/// Checks the form of a kill flag: it must be able to kill, whatever else is wrong.
struct KillFlagLint {
    let flag: FlagDocument.Flag
    let collector: LintCollector
    let configuration: FlagConfiguration

    func run() {
        let name = quoted(flag.key)
        if case .string("DISABLED")? = flag.node.member("state")?.value.value {
            add("the kill flag \(name) is disabled, and cannot kill", flag.node.member("state")?.value.range)
        }
        guard case .object(let variants)? = flag.node.member("variants")?.value.value, !variants.isEmpty else { return }
        if let other = variants.first(where: { $0.value.typeName != "boolean" }) {
            add("the variants of the kill flag \(name) must be booleans", other.value.range)
            return
        }
        for wanted in [true, false] where !variants.contains(where: { $0.value.flagValue == .bool(wanted) }) {
            add("the kill flag \(name) has no variant of the value \(wanted)", flag.keyRange)
        }
        checkDefault(variants, name)
    }

    private func checkDefault(_ variants: [JSONMember], _ name: String) {
        let member = flag.node.member("defaultVariant")
        guard case .string(let variant)? = member?.value.value,
            let value = variants.first(where: { $0.key == variant })?.value.flagValue
        else {
            add(
                "the kill flag \(name) needs a \"defaultVariant\" that says what holds without a rule",
                member?.value.range
            )
            return
        }
        if value == .bool(true) {
            collector.add(
                .killPulled,
                "the kill flag \(name) is pulled for everybody that no rule exempts",
                at: member?.value.range ?? flag.keyRange
            )
        }
    }

    private func add(_ message: String, _ range: Range<Int>?) {
        collector.add(.killFlag, message, at: range ?? flag.keyRange)
    }
}
