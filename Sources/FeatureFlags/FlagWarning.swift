/// Something in a flag file that does not stop it from being used, and that its author would want to know.
public struct FlagWarning: Sendable, Hashable, CustomStringConvertible {
    /// The oddity, and how it was read.
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
