import ShadowVerifier

extension VerificationPage {
    /// The work and the findings of each level.
    var levels: Markup {
        guard !report.levels.isEmpty else { return .empty }
        return section(
            "Levels",
            table(
                [.text("level"), .number("compared"), .text(""), .number("differences"), .number("seconds")],
                report.levels.map { level in
                    [
                        .text(level.name), .text(String(level.compared)), .text(level.unit),
                        .element(
                            "span",
                            ["class": level.differences == 0 ? "same" : "differs"],
                            .text(String(level.differences))
                        ),
                        .text(Figures.seconds(level.seconds)),
                    ]
                }
            )
        )
    }

    /// The number of records of each entity in both stores.
    var counts: Markup {
        let entities = Set(report.a.counts.keys).union(report.b.counts.keys).sorted()
        guard !entities.isEmpty else { return .empty }
        return section(
            "Records",
            table(
                [.text("entity"), .number("A"), .number("B")],
                entities.map { entity in
                    [report.a.counts[entity] ?? 0, report.b.counts[entity] ?? 0].reduce(into: [Markup.text(entity)]) {
                        $0.append(.text(String($1)))
                    }
                }
            )
        )
    }

    /// The data's oddities.
    var anomalies: Markup {
        guard !report.anomalies.isEmpty else { return .empty }
        return section(
            "Anomalies in the data",
            .element(
                "p",
                ["class": "note"],
                .text("Odd data that was copied unchanged. An anomaly alone is not a difference.")
            )
                + table(
                    [
                        .text("anomaly"), .text("entity"), .text("attribute"), .text("where"), .number("records"),
                        .value("example"),
                    ],
                    report.anomalies.map { anomaly in
                        [
                            .text(anomaly.kind), .text(anomaly.entity ?? ""), .text(anomaly.attribute ?? ""),
                            .text(anomaly.presence.words), .text(String(anomaly.count)),
                            .text(anomaly.example?.uuidString ?? ""),
                        ]
                    }
                )
        )
    }

    /// The parts that were not compared, and why.
    var notCompared: Markup {
        guard !report.notCompared.isEmpty else { return .empty }
        return section(
            "Not compared",
            .element("ul", [:], Markup(report.notCompared.map { .element("li", [:], .text($0)) }))
        )
    }

    /// Notes about the comparison, if there are any.
    var notes: Markup {
        guard !report.notes.isEmpty else { return .empty }
        return section(
            "Notes",
            .element("ul", [:], Markup(report.notes.map { .element("li", [:], .text($0)) }))
        )
    }

    /// The rules, the differences that they ignored, and whether they have expired.
    var ignoreRules: Markup {
        guard !report.ignoreRules.isEmpty else { return .empty }
        return section(
            "Ignore rules",
            table(
                [
                    .text("rule"), .text("covers"), .text("reason"), .text("expires"), .number("differences"),
                ],
                report.ignoreRules.map { use in
                    [
                        .text(use.rule.name), .text(use.rule.place), .text(use.rule.reason),
                        .element(
                            "span",
                            ["class": use.isExpired ? "differs" : ""],
                            .text(use.rule.expiryText + (use.isExpired ? " (expired, ignores nothing)" : ""))
                        ),
                        .text(String(use.differences)),
                    ]
                }
            )
        )
    }
}

extension StoreAnomaly.Presence {
    /// The stores in words.
    fileprivate var words: String {
        switch self {
        case .both: "both"
        case .onlyA: "only A"
        case .onlyB: "only B"
        }
    }
}
