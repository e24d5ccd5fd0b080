import FeatureFlags

/// What the flags say about one user, in one state of them.
protocol FlagAnswers {
    /// What notes call the source of the flags.
    var source: String { get }
    /// Why nothing of it is to be acted on; nil where it can be.
    var failure: String? { get }
    /// What a flag came to; nil where there is none of this key.
    func resolution(_ key: String) -> Resolution?
    /// Whether the source could be read, and has no flag of this key.
    func isMissing(_ key: String) -> Bool
    /// Whether a percentage decided, or may have.
    func isBucketed(_ key: String) -> Bool
}
