import Foundation
import ShadowVerifier

/// A report as one HTML page that needs nothing else: no network, no script, no other file.
///
/// It shows what the report holds, so values only where the report has them. Whatever comes from a store is text in it.
public struct VerificationPage {
    /// How many rows any of its tables has.
    public static let maximumRows = 1_000

    let report: VerificationReport

    /// The page of a report.
    public init(_ report: VerificationReport) { self.report = report }

    /// What every page begins with.
    public static let beginning = Data("<!DOCTYPE html>".utf8)

    /// The page, in UTF-8.
    public var data: Data { Self.beginning + Data("\n\(document.source)\n".utf8) }

    private var document: Markup {
        .element(
            "html",
            ["lang": "en"],
            .element(
                "head",
                [:],
                .void("meta", ["charset": "utf-8"]),
                .void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
                .void(
                    "meta",
                    [
                        "http-equiv": "Content-Security-Policy",
                        "content": "default-src 'none'; style-src 'unsafe-inline'",
                    ]
                ),
                .element("title", [:], .text("\(headline) – \(report.a.name) and \(report.b.name)")),
                .element("style", [:], PageStyle.sheet)
            ),
            .element("body", [:], .element("main", [:], Markup(sections)))
        )
    }

    private var sections: [Markup] {
        [
            verdict, levels, counts, differences, ignoreRules, queries, latency, anomalies, notCompared, notes,
        ]
    }

    /// A section with a heading; nothing where there is no content.
    func section(_ title: String, _ content: Markup?) -> Markup {
        guard let content else { return .empty }
        return .element("section", [:], .element("h2", [:], .text(title)), content)
    }

    /// A table with a row for each of some things, the first ``maximumRows`` of them.
    func table(_ columns: [PageColumn], _ rows: [[Markup]], total: Int? = nil) -> Markup {
        let head = columns.map { Markup.element("th", ["class": $0.className], .text($0.title)) }
        let body = rows.prefix(Self.maximumRows).map { row in
            Markup.element(
                "tr",
                [:],
                Markup(zip(columns, row).map { .element("td", ["class": $0.className], $1) })
            )
        }
        let table = Markup.element(
            "div",
            ["class": "scroll"],
            .element(
                "table",
                [:],
                .element("thead", [:], .element("tr", [:], Markup(head))),
                .element("tbody", [:], Markup(body))
            )
        )
        let left = (total ?? rows.count) - body.count
        guard left > 0 else { return table }
        return table + .element("p", ["class": "note"], .text("\(left) more are counted and not listed here."))
    }
}
