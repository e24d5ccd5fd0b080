import FeatureFlags

/// A rule of the caller's domain: the values of a flag are stages, which users pass in order.
public struct StageOrder: Sendable, Hashable {
    /// The flag's key.
    public let flagKey: String
    /// The values of the flag's variants, from the first stage to the last.
    public let values: [String]

    /// Defines the stages of a flag.
    public init(flagKey: String, values: [String]) {
        self.flagKey = flagKey
        self.values = values
    }

    /// The position of a value in the order; nil if it is not a stage.
    func index(of value: FlagValue?) -> Int? {
        guard case .string(let text)? = value else { return nil }
        return values.firstIndex { $0.hasSameBytes(as: text) }
    }
}
