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
