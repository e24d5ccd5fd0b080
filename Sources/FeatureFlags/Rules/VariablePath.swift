/// The path of a `var`, taken apart once: `app.version` is the member `version` of the attribute `app`.
struct VariablePath: Sendable {
    enum Root: Sendable {
        /// All of the context: the empty path.
        case everything
        case targetingKey
        /// The object `$flagd`, or an unknown member of it.
        case flagd
        case flagKey
        case timestamp
        case attribute(String)
    }

    let root: Root
    /// The names below the root.
    private let components: [String]

    init(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let below = Array(parts.dropFirst())
        switch (parts.first, below) {
        case _ where text.isEmpty:
            root = .everything
            components = []
        case ("$flagd", ["flagKey"]):
            root = .flagKey
            components = []
        case ("$flagd", ["timestamp"]):
            root = .timestamp
            components = []
        case ("$flagd", _):
            root = .flagd
            components = below
        case ("targetingKey", _):
            root = .targetingKey
            components = below
        case (let first, _):
            root = .attribute(first ?? "")
            components = below
        }
    }

    /// The path of a `var` whose argument was computed. JsonLogic takes null for the empty path, and turns anything
    /// else into a text.
    init(_ argument: FlagValue) {
        self.init(argument == .null ? "" : argument.javaScriptText)
    }

    func descend(into value: FlagValue) -> FlagValue? {
        var current = value
        for component in components {
            switch current {
            case .object(let members):
                guard let member = members[component] else { return nil }
                current = member
            case .list(let elements):
                guard let index = Int(component), String(index) == component, elements.indices.contains(index)
                else { return nil }
                current = elements[index]
            default:
                return nil
            }
        }
        return current
    }
}
