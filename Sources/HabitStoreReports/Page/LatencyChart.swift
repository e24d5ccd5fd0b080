import Foundation
import ShadowVerifier

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
