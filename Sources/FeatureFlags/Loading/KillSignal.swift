/// What pulled the kill switch.
public enum KillSignal: Sendable, Equatable, CustomStringConvertible {
    /// The sentinel file is there.
    case sentinel(path: String)
    /// The flag is `true`.
    case flag(key: String, variant: String)

    /// One line for logs and reports.
    public var description: String {
        switch self {
        case .sentinel(let path): "the sentinel file \(path) is there"
        case .flag(let key, let variant): "the flag \(key) is true (variant \(variant))"
        }
    }
}
