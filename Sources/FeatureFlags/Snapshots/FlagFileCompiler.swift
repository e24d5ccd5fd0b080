import Hashing

/// Turns the JSON of a whole flag file into compiled flags.
package struct FlagFileCompiler {
    private let source: SourceText
    private let configuration: FlagConfiguration
    private(set) var warnings: FlagWarningList
    package private(set) var flags: [String: CompiledFlag] = [:]
    package private(set) var quarantined: [String: FlagError] = [:]
    /// All flags in the order of the file, also those that a later one of the same key hides.
    private var definitions: [(key: String, node: JSONNode)] = []
    private(set) var metadata: [String: FlagValue] = [:]

    private static let knownMembers: Set<String> = ["flags", "metadata", "$evaluators", "$schema"]

    package init(source: SourceText, configuration: FlagConfiguration, warnings: FlagWarningList) {
        self.source = source
        self.configuration = configuration
        self.warnings = warnings
    }

    package mutating func compile(_ root: JSONNode) throws(FlagError) {
        guard case .object(let members) = root.value else {
            throw error("a flag file must be an object, and this is a value of type \(root.typeName)", root.range)
        }
        for member in members where !Self.knownMembers.contains(member.key) {
            let name = quoted(member.key)
            warnings.add(
                "a flag file has no member \(name); it is ignored",
                source,
                at: member.keyRange.lowerBound
            )
        }
        if let member = root.member("metadata") {
            metadata = MetadataReader.read(member.value, source, &warnings)
        }
        guard let member = root.member("flags") else { throw error("the file has no \"flags\"", root.range) }
        var compiler = FlagCompiler(
            source: source,
            configuration: configuration,
            evaluators: evaluators(of: root),
            flagSetMetadata: metadata,
            warnings: warnings
        )
        switch member.value.value {
        case .object(let members):
            for flag in members { add(flag.key, flag.value, flag.keyRange, &compiler) }
        case .array(let elements):
            for element in elements { addElement(element, &compiler) }
        default:
            throw error("the \"flags\" must be an object or an array", member.value.range)
        }
        warnings = compiler.warnings
    }

    /// What tells the compiled flags from those of another version of the file.
    package func fingerprints(of root: JSONNode) -> [String: SHA256.Digest] {
        var evaluators: [String: JSONNode] = [:]
        if case .object(let members)? = root.member("$evaluators")?.value.value {
            for evaluator in members { evaluators[evaluator.key] = evaluator.value }
        }
        return FlagFingerprints.make(of: definitions, metadata: metadata, evaluators: evaluators)
    }

    private mutating func evaluators(of root: JSONNode) -> SharedEvaluators {
        var nodes: [String: JSONNode] = [:]
        if let member = root.member("$evaluators") {
            if case .object(let members) = member.value.value {
                for evaluator in members { nodes[evaluator.key] = evaluator.value }
            } else {
                warnings.add(
                    "the \"$evaluators\" must be an object; it is ignored",
                    source,
                    at: member.keyRange.lowerBound
                )
            }
        }
        return SharedEvaluators(
            source: source,
            configuration: configuration,
            nodes: nodes,
            refusesConstantBuckets: true
        )
    }

    private func error(_ message: String, _ range: Range<Int>) -> FlagError {
        FlagError(.parseError, message, at: source.location(at: range.lowerBound))
    }

    /// A flag of the array form. One without a key cannot be asked for, and so it is left out with a warning.
    private mutating func addElement(_ element: JSONNode, _ compiler: inout FlagCompiler) {
        guard let member = element.member("key"), case .string(let key) = member.value.value else {
            compiler.warnings.add(
                "a flag of an array must be an object with a \"key\"; it is left out",
                source,
                at: element.range.lowerBound
            )
            return
        }
        add(key, element, member.value.range, &compiler)
    }

    private mutating func add(
        _ key: String,
        _ node: JSONNode,
        _ keyRange: Range<Int>,
        _ compiler: inout FlagCompiler
    ) {
        definitions.append((key, node))
        if flags[key] != nil {
            compiler.warnings.add(
                "the flag \(quoted(key)) occurs twice; the last one counts",
                source,
                at: keyRange.lowerBound
            )
        }
        let (flag, error) = compiler.compile(key, node, keyRange: keyRange)
        flags[key] = flag
        quarantined[key] = error
    }
}
