import Foundation
import ShadowVerifier

/// A report as a self-contained HTML page, without network access, scripts or other files.
///
/// It shows values only if the report contains them. All text from stores is escaped.
public struct VerificationPage {
    /// The most rows of a table.
    public static let maximumRows = 1_000

    let report: VerificationReport

    /// Creates the page of a report.
    public init(_ report: VerificationReport) { self.report = report }

    /// The first bytes of every page.
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

    /// A section with a heading; empty without content.
    func section(_ title: String, _ content: Markup?) -> Markup {
        guard let content else { return .empty }
        return .element("section", [:], .element("h2", [:], .text(title)), content)
    }

    /// A table with at most ``maximumRows`` rows.
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
