import FeatureFlags

/// A flag file's answers about a user.
struct FileAnswers: FlagAnswers {
    let snapshot: FlagSnapshot
    let context: EvaluationContext

    var source: String { "the flag file" }
    /// The file's reader reports its errors; the last good flags stay in force.
    var failure: String? { nil }

    func resolution(_ key: String) -> Resolution? {
        // Most files have only a few of the flags, and every opening of a user reads them all.
        snapshot.contains(key) ? snapshot.resolve(key, context: context) : nil
    }

    func isMissing(_ key: String) -> Bool { snapshot.resolve(key, context: context).errorCode == .flagNotFound }

    func isBucketed(_ key: String) -> Bool {
        snapshot.explain(key, context: context).steps.contains { $0.fractional != nil }
    }
}
