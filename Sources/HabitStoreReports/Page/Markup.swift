/// HTML or SVG that is escaped by construction: input is always text, and tags are static strings.
struct Markup {
    private(set) var source: String

    static let empty = Markup(source: "")

    private init(source: String) { self.source = source }

    /// Joins pieces.
    init(_ parts: [Markup]) { source = parts.map(\.source).joined() }

    /// Escapes a text.
    static func text(_ text: String) -> Markup { Markup(source: escaped(text)) }

    /// Source from the program itself: a style sheet.
    static func program(_ source: StaticString) -> Markup { Markup(source: "\(source)") }

    /// An element with content.
    static func element(
        _ name: StaticString,
        _ attributes: KeyValuePairs<StaticString, String> = [:],
        _ content: Markup...
    ) -> Markup {
        Markup(source: "<\(name)\(written(attributes))>\(Markup(content).source)</\(name)>")
    }

    /// An element without content and end tag.
    static func void(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:]) -> Markup {
        Markup(source: "<\(name)\(written(attributes))>")
    }

    static func + (left: Markup, right: Markup) -> Markup { Markup([left, right]) }

    private static func written(_ attributes: KeyValuePairs<StaticString, String>) -> String {
        attributes.map { " \($0)=\"\(escaped($1))\"" }.joined()
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case _ where leadsAstray(scalar):
                result += "\u{27E8}U+" + String(scalar.value, radix: 16, uppercase: true) + "\u{27E9}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether to show a scalar's name instead: control characters, which HTML does not allow, and those that reorder the text after them.
    private static func leadsAstray(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFFFE...0xFFFF: true
        default: false
        }
    }
}
