import JSONText

/// Turns the JSON of one flag into a ``CompiledFlag``.
struct FlagCompiler {
    let source: SourceText
    let configuration: FlagConfiguration
    let evaluators: SharedEvaluators
    let flagSetMetadata: [String: FlagValue]
    var warnings: FlagWarningList

    /// The flag, and the error for which it is quarantined. `keyRange` is where an error about the flag as a whole
    /// points to. A disabled flag stays disabled, and the caller's default is served as it asks, whatever else is
    /// wrong with it; the error is given all the same.
    mutating func compile(_ key: String, _ node: JSONNode, keyRange: Range<Int>) -> (CompiledFlag, FlagError?) {
        let problems = FlagForm.problems(ofFlag: node, keyRange: keyRange)
        for problem in problems where problem.isWarning {
            warnings.add(problem.message, source, at: problem.range.lowerBound)
        }
        let metadata = flagSetMetadata.merging(FlagForm.metadata(of: node), uniquingKeysWith: { _, flag in flag })
        let isDisabled = FlagForm.isDisabled(node)
        do throws(FlagError) {
            if let problem = problems.first(where: \.isError) {
                throw FlagError(
                    .parseError,
                    problem.message,
                    at: source.location(at: problem.range.lowerBound)
                )
            }
            let behavior = try behavior(of: node, metadata, isDisabled: isDisabled)
            return (CompiledFlag(key: key, behavior: behavior), nil)
        } catch {
            let resolution: Resolution =
                isDisabled
                ? .callerDefault(.disabled, metadata: metadata)
                : .failure(error.code, "\(error.location): \(error.message)", metadata: metadata)
            return (CompiledFlag(key: key, behavior: .fixed(resolution)), error)
        }
    }

    private func behavior(
        of node: JSONNode,
        _ metadata: [String: FlagValue],
        isDisabled: Bool
    ) throws(FlagError) -> CompiledFlag.Behavior {
        let rule = try targeting(of: node)
        if isDisabled { return .fixed(.callerDefault(.disabled, metadata: metadata)) }
        let variants = node.member("variants")?.value.membersByName ?? [:]
        func outcome(_ reason: Reason) -> Resolution {
            guard case .string(let name)? = node.member("defaultVariant")?.value.value, let value = variants[name]
            else {
                return .callerDefault(.default, metadata: metadata)
            }
            return .variant(name, value.flagValue, reason, metadata: metadata)
        }
        guard let rule else { return .fixed(outcome(.static)) }
        var matches: [String: Resolution] = [:]
        for (name, value) in variants {
            matches[name] = .variant(name, value.flagValue, .targetingMatch, metadata: metadata)
        }
        return .targeted(
            CompiledFlag.Targeting(
                rule: rule,
                matches: matches,
                fallback: outcome(.default),
                unknownVariant: .failure(.general, "the targeting gave no variant of this flag", metadata: metadata),
                unusableResult: .failure(
                    .general,
                    "the targeting gave a number, an array or an object; it must name a variant or be null",
                    metadata: metadata
                )
            )
        )
    }

    /// The rule, or nil without one: `{}` and null are not rules.
    private func targeting(of node: JSONNode) throws(FlagError) -> Rule? {
        guard let targeting = node.member("targeting")?.value, case .object(let members) = targeting.value,
            !members.isEmpty
        else { return nil }
        var compiler = RuleCompiler(
            source: source,
            configuration: configuration,
            evaluators: evaluators,
            refusesConstantBuckets: true
        )
        return try compiler.compile(targeting).rule
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
