/// A flag, ready to be evaluated: every outcome that it can have is made when the file is loaded, and an evaluation
/// hands one of them out.
final class CompiledFlag: Sendable {
    enum Behavior: Sendable {
        /// Disabled, quarantined or without targeting: always the same.
        case fixed(Resolution)
        case targeted(Targeting)
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

    func resolve(_ context: EvaluationContext, clock: @escaping @Sendable () -> Int64) -> Resolution {
        switch behavior {
        case .fixed(let resolution):
            return resolution
        case .targeted(let targeting):
            switch targeting.rule.evaluate(in: EvaluationScope(flagKey: key, context: context, clock: clock)) {
            case .null: return targeting.fallback
            case .string(let variant): return targeting.matches[variant] ?? targeting.unknownVariant
            case .bool(let value): return targeting.matches[value ? "true" : "false"] ?? targeting.unknownVariant
            case .int, .double, .list, .object: return targeting.unusableResult
            }
        }
    }
}
