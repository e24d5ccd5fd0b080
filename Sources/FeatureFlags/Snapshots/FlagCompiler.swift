import JSONText

/// Turns the JSON of one flag into a ``CompiledFlag``.
struct FlagCompiler {
    let source: SourceText
    let configuration: FlagConfiguration
    let evaluators: SharedEvaluators
    let flagSetMetadata: [String: FlagValue]
    var warnings: FlagWarningList

    private static let knownMembers: Set<String> = ["state", "variants", "defaultVariant", "targeting", "metadata"]

    private enum State: String {
        case enabled = "ENABLED"
        case disabled = "DISABLED"
    }

    private struct Variants {
        let values: [String: FlagValue]
        let defaultVariant: (name: String, value: FlagValue)?
    }

    /// The flag, and the error for which it is quarantined. `keyRange` is where an error about the flag as a whole
    /// points to. A disabled flag stays disabled, and the caller's default is served as it asks, whatever else is
    /// wrong with it; the error is given all the same.
    mutating func compile(_ key: String, _ node: JSONNode, keyRange: Range<Int>) -> (CompiledFlag, FlagError?) {
        let metadata = flagMetadata(of: node)
        var state: State?
        do throws(FlagError) {
            state = try self.state(of: node, keyRange)
            let behavior = try behavior(of: node, keyRange, metadata, isDisabled: state == .disabled)
            return (CompiledFlag(key: key, behavior: behavior), nil)
        } catch {
            let resolution: Resolution =
                state == .disabled
                ? .callerDefault(.disabled, metadata: metadata)
                : .failure(error.code, "\(error.location): \(error.message)", metadata: metadata)
            return (CompiledFlag(key: key, behavior: .fixed(resolution)), error)
        }
    }

    private func behavior(
        of node: JSONNode,
        _ keyRange: Range<Int>,
        _ metadata: [String: FlagValue],
        isDisabled: Bool
    ) throws(FlagError) -> CompiledFlag.Behavior {
        let variants = try variants(of: node, keyRange)
        let rule = try targeting(of: node)
        if isDisabled { return .fixed(.callerDefault(.disabled, metadata: metadata)) }
        guard let rule else {
            guard let (name, value) = variants.defaultVariant else {
                return .fixed(.callerDefault(.default, metadata: metadata))
            }
            return .fixed(.variant(name, value, .static, metadata: metadata))
        }
        var matches: [String: Resolution] = [:]
        for (name, value) in variants.values {
            matches[name] = .variant(name, value, .targetingMatch, metadata: metadata)
        }
        let fallback: Resolution =
            if let (name, value) = variants.defaultVariant {
                .variant(name, value, .default, metadata: metadata)
            } else {
                .callerDefault(.default, metadata: metadata)
            }
        return .targeted(
            CompiledFlag.Targeting(
                rule: rule,
                matches: matches,
                fallback: fallback,
                unknownVariant: .failure(.general, "the targeting gave no variant of this flag", metadata: metadata),
                unusableResult: .failure(
                    .general,
                    "the targeting gave a number, an array or an object; it must name a variant or be null",
                    metadata: metadata
                )
            )
        )
    }

    private func state(of node: JSONNode, _ keyRange: Range<Int>) throws(FlagError) -> State {
        guard case .object = node.value else {
            throw error("a flag must be an object, and this is a value of type \(node.typeName)", node.range)
        }
        guard let member = node.member("state") else {
            throw error("the flag has no \"state\"; write \"ENABLED\" or \"DISABLED\"", keyRange)
        }
        guard case .string(let text) = member.value.value, let state = State(rawValue: text) else {
            throw error("the \"state\" must be \"ENABLED\" or \"DISABLED\"", member.value.range)
        }
        return state
    }

    private func variants(of node: JSONNode, _ keyRange: Range<Int>) throws(FlagError) -> Variants {
        guard let member = node.member("variants") else { throw error("the flag has no \"variants\"", keyRange) }
        guard case .object(let members) = member.value.value, let first = members.first else {
            throw error("the \"variants\" must be an object with at least one member", member.value.range)
        }
        var values: [String: FlagValue] = [:]
        for variant in members {
            let type = variant.value.typeName
            guard ["boolean", "string", "number", "object"].contains(type) else {
                throw error("a variant must be a boolean, string, number or object, not \(type)", variant.value.range)
            }
            guard type == first.value.typeName else {
                throw error(
                    "all variants of a flag must be of one type: \(quoted(first.key)) is of type "
                        + "\(first.value.typeName), and \(quoted(variant.key)) of type \(type)",
                    variant.value.range
                )
            }
            if let number = variant.value.unusableNumber { throw error(JSONNode.unusableNumberMessage, number.range) }
            values[variant.key] = variant.value.flagValue
        }
        return Variants(values: values, defaultVariant: try defaultVariant(of: node, values))
    }

    private func defaultVariant(
        of node: JSONNode,
        _ values: [String: FlagValue]
    ) throws(FlagError) -> (name: String, value: FlagValue)? {
        guard let member = node.member("defaultVariant") else { return nil }
        switch member.value.value {
        case .null:
            return nil
        case .string("") where values[""] == nil:
            // As in flagd, whose default variant is empty where the file has none.
            return nil
        case .string(let name):
            guard let value = values[name] else {
                throw error("the \"defaultVariant\" \(quoted(name)) is not one of the variants", member.value.range)
            }
            return (name, value)
        default:
            throw error("the \"defaultVariant\" must be the name of a variant, or null", member.value.range)
        }
    }

    /// The rule, or nil without one: `{}` and null are not rules.
    private func targeting(of node: JSONNode) throws(FlagError) -> Rule? {
        guard let member = node.member("targeting") else { return nil }
        switch member.value.value {
        case .null: return nil
        case .object(let members) where members.isEmpty: return nil
        case .object(let members) where members.count == 1:
            var compiler = RuleCompiler(
                source: source,
                configuration: configuration,
                evaluators: evaluators,
                refusesConstantBuckets: true
            )
            return try compiler.compile(member.value).rule
        case .object:
            throw error("the \"targeting\" must hold one operator, and holds more members", member.value.range)
        default:
            throw error(
                "the \"targeting\" must be an object with one operator, not a value of type \(member.value.typeName)",
                member.value.range
            )
        }
    }

    private func error(_ message: String, _ range: Range<Int>) -> FlagError {
        FlagError(.parseError, message, at: source.location(at: range.lowerBound))
    }

    private mutating func flagMetadata(of node: JSONNode) -> [String: FlagValue] {
        guard case .object(let members) = node.value else { return flagSetMetadata }
        for member in members where !Self.knownMembers.contains(member.key) && member.key != "key" {
            let name = quoted(member.key)
            warnings.add(
                "a flag has no member \(name); it is ignored",
                source,
                at: member.keyRange.lowerBound
            )
        }
        guard let member = node.member("metadata") else { return flagSetMetadata }
        let own = MetadataReader.read(member.value, source, &warnings)
        return flagSetMetadata.merging(own, uniquingKeysWith: { _, flag in flag })
    }
}

/// A flag, ready to be evaluated: every outcome that it can have is made when the file is loaded, and an evaluation
/// hands one of them out.
package final class CompiledFlag: Sendable {
    enum Behavior: Sendable {
        /// Disabled, quarantined or without targeting: always the same.
        case fixed(Resolution)
        case targeted(Targeting)
        /// A kill flag next to a mistake, such as one from a damaged file: it counts if it gives `true`; otherwise the other one does.
        case killing(CompiledFlag, otherwise: CompiledFlag?)
    }

    struct Targeting: Sendable {
        let rule: Rule
        /// The outcome by the variant that the rule names.
        let matches: [String: Resolution]
        /// The outcome where the rule gives null.
        let fallback: Resolution
        /// The outcome where the rule gives a text or a boolean that names no variant.
        let unknownVariant: Resolution
        /// The outcome where the rule gives a number, a list or an object.
        let unusableResult: Resolution
    }

    let key: String
    let behavior: Behavior

    init(key: String, behavior: Behavior) {
        self.key = key
        self.behavior = behavior
    }

    /// The outcome, where it is the same for everybody.
    var fixedResolution: Resolution? {
        if case .fixed(let resolution) = behavior { resolution } else { nil }
    }

    package func resolve(
        _ context: EvaluationContext,
        clock: @escaping @Sendable () -> Int64,
        trace: EvaluationTrace? = nil
    ) -> Resolution {
        switch behavior {
        case .fixed(let resolution):
            return resolution
        case .targeted(let targeting):
            var evaluation = Evaluation(flagKey: key, context: context, clock: clock, trace: trace)
            let resolution = targeting.resolve(&evaluation)
            trace?.work += evaluation.spentWork
            return resolution
        case .killing(let flag, let otherwise):
            let resolution = flag.resolve(context, clock: clock, trace: trace)
            if case .bool(true) = resolution.value { return resolution }
            return otherwise?.resolve(context, clock: clock, trace: trace)
                ?? .failure(
                    .parseError,
                    "the file of the flag is damaged, and the flag can only be used to switch off",
                    metadata: resolution.flagMetadata
                )
        }
    }

    /// The outcome, and the steps that the evaluation took.
    package func measured(
        _ context: EvaluationContext,
        clock: @escaping @Sendable () -> Int64
    ) -> (resolution: Resolution, work: Int) {
        guard case .targeted(let targeting) = behavior else { return (resolve(context, clock: clock), 1) }
        var evaluation = Evaluation(flagKey: key, context: context, clock: clock)
        let resolution = targeting.resolve(&evaluation)
        return (resolution, evaluation.spentWork)
    }
}

extension CompiledFlag.Targeting {
    fileprivate func resolve(_ evaluation: inout Evaluation) -> Resolution {
        do throws(EvaluationFault) {
            switch try rule.evaluate(&evaluation) {
            case .null: return fallback
            case .string(let variant): return matches[variant] ?? unknownVariant
            case .bool(let value): return matches[value ? "true" : "false"] ?? unknownVariant
            case .int, .double, .list, .object: return unusableResult
            }
        } catch {
            return .failure(.general, error.message, metadata: fallback.flagMetadata)
        }
    }
}

/// Reads the `metadata` of a flag or of a flag set: texts, numbers and booleans by name. Metadata decides nothing, and
/// so what is wrong with it is a warning and not an error.
enum MetadataReader {
    static func read(
        _ node: JSONNode,
        _ source: SourceText,
        _ warnings: inout FlagWarningList
    ) -> [String: FlagValue] {
        guard case .object(let members) = node.value else {
            warnings.add(
                "the \"metadata\" must be an object; it is ignored",
                source,
                at: node.range.lowerBound
            )
            return [:]
        }
        var metadata: [String: FlagValue] = [:]
        for member in members {
            switch member.value.value {
            case .double(let number) where !number.isFinite:
                let name = quoted(member.key)
                warnings.add(
                    "the metadata \(name) is ignored: \(JSONNode.unusableNumberMessage)",
                    source,
                    at: member.value.range.lowerBound
                )
            case .bool, .int, .double, .string:
                metadata[member.key] = member.value.flagValue
            case .null, .array, .object:
                let name = quoted(member.key)
                warnings.add(
                    "the metadata \(name) must be a string, number or boolean; it is ignored",
                    source,
                    at: member.value.range.lowerBound
                )
            }
        }
        return metadata
    }
}
