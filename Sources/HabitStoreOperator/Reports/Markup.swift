import Foundation
import ShadowVerifier

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

/// A column of a table on a page.
struct PageColumn {
    let title: String
    var className = ""

    static func text(_ title: String) -> PageColumn { PageColumn(title: title) }

    /// Aligned to the right.
    static func number(_ title: String) -> PageColumn { PageColumn(title: title, className: "number") }

    /// Values in a monospaced font.
    static func value(_ title: String) -> PageColumn { PageColumn(title: title, className: "value") }
}

/// The style of a page, in light and dark mode.
enum PageStyle {
    static let sheet = Markup.program(
        """
        :root { color-scheme: light dark; --ink: #1c2024; --dim: #5d6570; --paper: #ffffff; --panel: #f4f5f7;
          --line: #dcdfe4; --good: #1a7f4b; --bad: #b3261e; --unsure: #8a5a00; --mark: #ffe08a; --markink: #1c2024;
          --a: #2f6fd0; --b: #c2571a; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e7e9ec; --dim: #9aa3ad; --paper: #15181c; --panel: #1e2227; --line: #353b43;
            --good: #4cc38a; --bad: #ff8078; --unsure: #f0b44c; --mark: #6b5200; --markink: #fff3cf;
            --a: #6ea4f4; --b: #f0935a; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
        header { background: var(--panel); border-left: .5rem solid var(--tone); border-radius: .5rem;
          padding: 1.5rem 2rem; }
        header.good { --tone: var(--good); } header.bad { --tone: var(--bad); } header.unsure { --tone: var(--unsure); }
        h1 { margin: 0; font-size: 3.5rem; line-height: 1.1; color: var(--tone); }
        h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem; }
        .sentence { font-size: 1.25rem; margin: .5rem 0 1rem; }
        .note { color: var(--dim); font-size: .875rem; margin: .25rem 0; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; }
        th { text-align: left; font-weight: 600; color: var(--dim); font-size: .8125rem; }
        th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        .value, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .8125rem; }
        td.value { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 9rem; }
        mark { background: var(--mark); color: var(--markink); border-radius: .2rem; padding: 0 .1rem; }
        .same { color: var(--good); } .differs { color: var(--bad); font-weight: 600; }
        .storeA { color: var(--a); font-weight: 700; } .storeB { color: var(--b); font-weight: 700; }
        svg { width: 100%; height: auto; display: block; }
        svg text { fill: var(--ink); } svg .tick { fill: var(--dim); }
        svg .grid { stroke: var(--line); stroke-width: 1; }
        .barA { fill: var(--a); } .barB { fill: var(--b); }
        @media print { main { max-width: none; padding: 0; } }

        """
    )
}

/// Formats numbers for people, the same in every locale.
enum Figures {
    /// Seconds with three decimals.
    static func seconds(_ seconds: Double) -> String { fixed(seconds, 3) }

    /// Milliseconds with three significant digits.
    static func milliseconds(_ milliseconds: Double) -> String {
        switch milliseconds {
        case ..<1: fixed(milliseconds, 3)
        case ..<10: fixed(milliseconds, 2)
        case ..<100: fixed(milliseconds, 1)
        default: fixed(milliseconds, 0)
        }
    }

    /// A number with this many decimals.
    static func fixed(_ number: Double, _ digits: Int) -> String {
        guard number.isFinite else { return "–" }
        return String(format: "%.\(digits)f", number)
    }
}

/// A horizontal bar chart in SVG with the latency of both stores for each query, on one logarithmic scale.
struct LatencyChart {
    private static let width = 920.0
    private static let nameWidth = 230.0
    private static let figureWidth = 70.0
    private static let barHeight = 11.0
    private static let rowHeight = 34.0
    private static let axisHeight = 24.0
    private static let nameLength = 34

    private let queries: [QueryComparison]
    /// The powers of ten, in milliseconds, between which all bars end.
    private let decades: ClosedRange<Int>

    init(_ queries: [QueryComparison]) {
        self.queries = queries
        let measured = queries.flatMap { [$0.millisecondsA, $0.millisecondsB] }.filter { $0 > 0 && $0.isFinite }
        let low = max(-6, Int(log10(measured.min() ?? 0.1).rounded(.down)))
        decades = low...max(low + 1, Int(log10(measured.max() ?? 1).rounded(.up)))
    }

    /// The chart; its values also appear as numbers.
    var markup: Markup {
        let height = Self.axisHeight + Double(queries.count) * Self.rowHeight
        return .element(
            "svg",
            [
                "viewBox": "0 0 \(Figures.fixed(Self.width, 0)) \(Figures.fixed(height, 0))", "role": "img",
                "font-size": "11",
                "aria-label": "Latency of both stores for each query in milliseconds",
            ],
            axis(height),
            Markup(queries.enumerated().map { rows($1, at: Self.axisHeight + Double($0) * Self.rowHeight) })
        )
    }

    private func axis(_ height: Double) -> Markup {
        Markup(
            decades.map { decade in
                let x = Figures.fixed(position(pow(10, Double(decade))), 1)
                return .element(
                    "line",
                    ["class": "grid", "x1": x, "x2": x, "y1": "16", "y2": Figures.fixed(height, 0)]
                )
                    + .element(
                        "text",
                        ["class": "tick", "x": x, "y": "11", "text-anchor": "middle"],
                        .text("\(Figures.fixed(pow(10, Double(decade)), max(0, -decade))) ms")
                    )
            }
        )
    }

    private func rows(_ query: QueryComparison, at y: Double) -> Markup {
        let isCut = query.name.count > Self.nameLength
        let name = isCut ? query.name.prefix(Self.nameLength - 1) + "…" : query.name[...]
        return .element(
            "text",
            [
                "class": "name", "x": Figures.fixed(Self.nameWidth - 8, 0), "y": Figures.fixed(y + 20, 0),
                "text-anchor": "end",
            ],
            .text(String(name)),
            .element("title", [:], .text(query.name))
        )
            + bar(query.millisecondsA, query.countA == nil, "barA", y + 3)
            + bar(query.millisecondsB, query.countB == nil, "barB", y + 5 + Self.barHeight)
    }

    private func bar(_ milliseconds: Double, _ isError: Bool, _ className: String, _ y: Double) -> Markup {
        let end = position(milliseconds)
        let figure = isError ? "error" : Figures.milliseconds(milliseconds)
        return .element(
            "rect",
            [
                "class": className, "x": Figures.fixed(Self.nameWidth, 0), "y": Figures.fixed(y, 0),
                "width": Figures.fixed(end - Self.nameWidth, 1), "height": Figures.fixed(Self.barHeight, 0), "rx": "2",
            ]
        )
            + .element(
                "text",
                ["class": "figure", "x": Figures.fixed(end + 5, 1), "y": Figures.fixed(y + 9, 0)],
                .text(figure)
            )
    }

    /// The end of a bar for this duration; zero is at the beginning.
    private func position(_ milliseconds: Double) -> Double {
        let span = Double(decades.upperBound - decades.lowerBound)
        let share = milliseconds > 0 ? (log10(milliseconds) - Double(decades.lowerBound)) / span : 0
        return Self.nameWidth + min(1, max(0, share)) * (Self.width - Self.nameWidth - Self.figureWidth)
    }
}
