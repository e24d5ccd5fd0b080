import FeatureFlags

/// The flags' answers about one user, in one state of the flags.
protocol FlagAnswers {
    /// The name of the flags' source in notes.
    var source: String { get }
    /// Why the answers must not be acted on; nil if they may be.
    var failure: String? { get }
    /// The resolution of a flag; nil if there is no flag with this key.
    func resolution(_ key: String) -> Resolution?
    /// Whether the source could be read, and has no flag with this key.
    func isMissing(_ key: String) -> Bool
    /// Whether a percentage decided, or may have.
    func isBucketed(_ key: String) -> Bool
}
