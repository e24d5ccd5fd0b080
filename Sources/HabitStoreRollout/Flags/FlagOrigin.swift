/// Where the rollout's flags come from.
public struct FlagOrigin: Sendable {
    enum Kind: Sendable {
        case file(String)
        case provider(any RolloutFlagProvider)
    }

    let kind: Kind

    /// A flag file in flagd's format, JSON or YAML.
    public static func file(_ path: String) -> FlagOrigin { FlagOrigin(kind: .file(path)) }

    /// The app's own flag provider.
    public static func provider(_ provider: any RolloutFlagProvider) -> FlagOrigin {
        FlagOrigin(kind: .provider(provider))
    }

    /// The flag file's path; nil for a provider.
    var path: String? {
        guard case .file(let path) = kind else { return nil }
        return path
    }

    /// The provider; nil for a file.
    var provider: (any RolloutFlagProvider)? {
        guard case .provider(let provider) = kind else { return nil }
        return provider
    }
}
