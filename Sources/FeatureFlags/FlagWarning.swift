/// Something in a flag file that does not stop it from being used, and that its author would want to know.
public struct FlagWarning: Sendable, Hashable, CustomStringConvertible {
    /// What is odd and what was made of it.
    public let message: String
    /// Where it stands.
    public let location: FlagError.Location

    /// Makes a warning.
    public init(_ message: String, at location: FlagError.Location) {
        self.message = message
        self.location = location
    }

    /// `file:line:column: message`.
    public var description: String { "\(location): \(message)" }
}

/// The warnings of one file, at most ``FlagLimits/warnings`` of them.
struct FlagWarningList: Sendable {
    private(set) var warnings: [FlagWarning] = []

    /// Adds a warning about the byte at `offset`. The place is worked out only for a warning that is kept.
    mutating func add(_ message: String, _ source: SourceText, at offset: Int) {
        guard warnings.count < FlagLimits.warnings else { return }
        let isLast = warnings.count == FlagLimits.warnings - 1
        let text = isLast ? "further warnings of this file are left out" : message
        warnings.append(FlagWarning(text, at: source.location(at: offset)))
    }
}
