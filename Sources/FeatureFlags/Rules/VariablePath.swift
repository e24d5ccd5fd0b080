/// The path of a `var`, taken apart once: `app.version` is the member `version` of the attribute `app`.
package struct VariablePath: Sendable {
    /// The meaning of the path's first name in an evaluation context.
    package enum Root: Sendable {
        /// All of the context: the empty path.
        case everything
        case targetingKey
        /// The object `$flagd`, or an unknown member of it.
        case flagd
        case flagKey
        case timestamp
        case attribute(String)
    }

    /// A name between the dots, which is also an index where it stands below a list.
    package struct Component: Sendable {
        package let name: String
        package let index: Int?

        package init(_ name: Substring) {
            self.name = String(name)
            if let index = Int(name), String(index) == name { self.index = index } else { self.index = nil }
        }
    }

    package let root: Root
    /// All names of the path, from the first on; empty for the empty path.
    package let components: [Component]

    package init(_ text: String) {
        components =
            text.isEmpty ? [] : text.split(separator: ".", omittingEmptySubsequences: false).map(Component.init)
        switch (components.first?.name, components.dropFirst().map(\.name)) {
        case (nil, _): root = .everything
        case ("$flagd", ["flagKey"]): root = .flagKey
        case ("$flagd", ["timestamp"]): root = .timestamp
        case ("$flagd", _): root = .flagd
        case ("targetingKey", _): root = .targetingKey
        case (let first?, _): root = .attribute(first)
        }
    }

    /// The path of a `var` whose argument was computed. JsonLogic takes null for the empty path, and turns anything
    /// else into a text.
    package init(_ argument: FlagValue) {
        if case .null = argument { self.init("") } else { self.init(argument.javaScriptText) }
    }

    /// The value at the names from `first` on.
    package func descend(into value: FlagValue, from first: Int) -> FlagValue? {
        var current = value
        for component in components.dropFirst(first) {
            switch current {
            case .object(let members):
                guard let member = members[component.name] else { return nil }
                current = member
            case .list(let elements):
                guard let index = component.index, elements.indices.contains(index) else { return nil }
                current = elements[index]
            default:
                return nil
            }
        }
        return current
    }
}
