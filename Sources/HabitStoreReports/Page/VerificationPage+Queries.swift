extension VerificationPage {
    /// Each query's results and plans.
    var queries: Markup {
        guard !report.queries.isEmpty else { return .empty }
        return section(
            "Queries",
            table(
                [
                    .text("query"), .text("same"), .number("rows A"), .number("rows B"), .text("plan A"),
                    .text("plan B"),
                ],
                report.queries.map { query in
                    [
                        .text(query.name),
                        .element(
                            "span",
                            ["class": query.matches ? "same" : "differs"],
                            .text(query.matches ? "yes" : "no")
                        ),
                        .text(query.countA.map(String.init) ?? "error"),
                        .text(query.countB.map(String.init) ?? "error"), .text(query.planA), .text(query.planB),
                    ]
                }
            )
        )
    }

    /// The latency of both stores for each query.
    var latency: Markup {
        guard !report.queries.isEmpty else { return .empty }
        let shown = report.queries.prefix(Self.maximumRows)
        let left = report.queries.count - shown.count
        return section(
            "Latency",
            .element(
                "p",
                ["class": "note"],
                .text("Milliseconds of each query, once, on a scale of powers of ten. "),
                .element("span", ["class": "storeA"], .text("A")),
                .text(" \(report.a.name), "),
                .element("span", ["class": "storeB"], .text("B")),
                .text(" \(report.b.name)")
            )
                + LatencyChart(Array(shown)).markup
                + (left > 0 ? .element("p", ["class": "note"], .text("\(left) more queries are not drawn.")) : .empty)
        )
    }
}
