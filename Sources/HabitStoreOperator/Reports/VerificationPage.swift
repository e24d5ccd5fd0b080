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

extension VerificationPage {
    /// The verdict in a word or two.
    var headline: String {
        switch report.verdict {
        case .match: "Identical"
        case .mismatch: "Different"
        case .skewed: "Not compared"
        case .ignored: "Ignored"
        case .error: "Not finished"
        case .timedOut: "Timed out"
        }
    }

    /// The verdict in a sentence.
    private var sentence: String {
        let (all, ignored) = (report.differenceCount, report.ignoredCount)
        switch report.verdict {
        case .match: return "Everything that was compared is the same in both stores."
        case .mismatch:
            let open = Self.count(report.openDifferenceCount, "difference")
            return ignored == 0 ? "\(open) between the two stores." : "\(open), and \(ignored) more that rules ignore."
        case .skewed: return "The stores stand at different tokens of one history."
        case .ignored:
            return "\(Self.count(all, "difference")), all of them ignored by "
                + "\(Self.count(report.appliedRuleCount, "rule")): the stores are not the same."
        case .error: return "A store could not be read to the end, so nothing is proven."
        case .timedOut: return "The time limit came before the end, so nothing is proven."
        }
    }

    private var tone: String {
        switch report.verdict {
        case .match: "good"
        case .mismatch, .error: "bad"
        case .skewed, .ignored, .timedOut: "unsure"
        }
    }

    /// The top of the page: the verdict, the reason, and the stores.
    var verdict: Markup {
        .element(
            "header",
            ["class": tone],
            .element("h1", [:], .text(headline)),
            .element("p", ["class": "sentence"], .text(sentence)),
            report.reason.map { .element("p", [:], .text($0)) } ?? .empty,
            sides
        )
    }

    private var sides: Markup {
        table(
            [.text(""), .text("store"), .number("token"), .text("role")],
            [("A", report.a), ("B", report.b)].map { letter, side in
                [
                    .element("span", ["class": "store\(letter)"], .text(letter)), .text(side.name),
                    .text(side.position.token), .text(side.position.role),
                ]
            }
        )
    }

    static func count(_ number: Int, _ noun: String) -> String { number.counted(noun) }
}

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

extension VerificationPage {
    /// The differences side by side, with those that are not ignored first.
    var differences: Markup {
        guard !report.differences.isEmpty else { return .empty }
        let open = report.differences.filter { $0.ignoredBy == nil }
        let ignored = report.differences.filter { $0.ignoredBy != nil }
        let note =
            report.showsValues
            ? "Values are shown, and may be personal; what differs in them is marked."
            : "Values are not shown; verify with --show-values to see them."
        return section(
            "Differences",
            .element("p", ["class": "note"], .text(note))
                + table(
                    [
                        .value("id"), .text("kind"), .text("place"), .value("A"), .value("B"),
                    ],
                    (open + ignored).map(row),
                    total: report.differenceCount
                )
        )
    }

    private func row(_ difference: StoreDifference) -> [Markup] {
        [
            .element("code", [:], .text(difference.differenceID)),
            .text(difference.kind.rawValue)
                + (difference.ignoredBy.map { .element("div", ["class": "note"], .text("ignored by \($0)")) } ?? .empty),
            place(of: difference),
        ] + values(of: difference)
    }

    private func place(of difference: StoreDifference) -> Markup {
        var parts: [Markup] = []
        if let entity = difference.entity { parts.append(.text(entity)) }
        if let attribute = difference.attribute {
            parts.append(.text(".") + .element("mark", [:], .text(attribute)))
        }
        if let query = difference.query { parts.append(.text(" query ") + .element("mark", [:], .text(query))) }
        if let id = difference.id { parts.append(.element("div", [:], .element("code", [:], .text(id.uuidString)))) }
        return Markup(parts) + .element("div", ["class": "note"], .text(difference.message))
    }

    private func values(of difference: StoreDifference) -> [Markup] {
        switch difference.kind {
        case .missingInA: return [.element("mark", [:], .text("no such record")), .text("the record")]
        case .missingInB: return [.text("the record"), .element("mark", [:], .text("no such record"))]
        default: break
        }
        guard let a = difference.a, let b = difference.b else {
            return [.text(difference.a ?? ""), .text(difference.b ?? "")]
        }
        guard report.showsValues else { return [.text(a), .text(b)] }
        let parts = DifferingText(a, b)
        return [marked(parts.a), marked(parts.b)]
    }

    private func marked(_ part: DifferingText.Part) -> Markup {
        .element(
            "bdi",
            [:],
            .text(part.before),
            part.differing.isEmpty ? .empty : .element("mark", [:], .text(part.differing)),
            .text(part.after),
            part.scalars.map { .element("div", ["class": "note"], .text($0)) } ?? .empty
        )
    }
}

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

/// Two texts, each in three parts: their common beginning, the difference, and their common end.
struct DifferingText {
    /// One of the two texts.
    struct Part: Equatable {
        var before: String
        var differing: String
        var after: String
        /// The differing scalars, if both parts look the same.
        var scalars: String?
    }

    /// How many common scalars to show at each end.
    private static let margin = 60
    /// How many differing scalars to show.
    private static let maximumDiffering = 1_000
    /// How many scalars to name.
    private static let namedScalars = 8

    let a: Part
    let b: Part

    init(_ a: String, _ b: String) {
        let (left, right) = (Array(a.unicodeScalars), Array(b.unicodeScalars))
        let shorter = min(left.count, right.count)
        var prefix = 0
        while prefix < shorter, left[prefix] == right[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix, left[left.count - 1 - suffix] == right[right.count - 1 - suffix] {
            suffix += 1
        }
        let middles = (left[prefix..<left.count - suffix], right[prefix..<right.count - suffix])
        // Swift considers texts equal that differ only in their Unicode form, and readers see no difference.
        let looksEqual = a == b && left != right
        func part(_ all: [Unicode.Scalar], _ middle: ArraySlice<Unicode.Scalar>) -> Part {
            Part(
                before: Self.end(of: all[..<prefix]),
                differing: Self.beginning(of: middle, Self.maximumDiffering),
                after: Self.beginning(of: all[(all.count - suffix)...], Self.margin),
                scalars: looksEqual ? Self.names(middle) : nil
            )
        }
        self.a = part(left, middles.0)
        self.b = part(right, middles.1)
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    private static func beginning(of scalars: ArraySlice<Unicode.Scalar>, _ length: Int) -> String {
        text(scalars.prefix(length)) + (scalars.count > length ? "…" : "")
    }

    private static func end(of scalars: ArraySlice<Unicode.Scalar>) -> String {
        (scalars.count > margin ? "…" : "") + text(scalars.suffix(margin))
    }

    private static func names(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        let names = scalars.prefix(namedScalars).map { scalar in
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
        return names.joined(separator: " ") + (scalars.count > namedScalars ? " …" : "")
    }
}
