/// How a flag file is written. Both say the same.
public enum FlagFormat: String, Sendable, CaseIterable {
    /// JSON (RFC 8259).
    case json
    /// YAML 1.2.
    case yaml

    /// The format of a path by its extension: YAML for `.yaml` and `.yml`, and JSON for all others.
    public init(path: String) {
        let name = path.split(separator: "/").last ?? ""
        let suffix = name.split(separator: ".").last?.lowercased() ?? ""
        self = suffix == "yaml" || suffix == "yml" ? .yaml : .json
    }
}
