import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreOperator
@testable import ShadowVerifier

/// The page has the contents of the report, needs neither network nor script, and shows users' texts only on request.
struct VerificationPageTests {
    private static let script = "<script>alert(\"x\")</script><img src=x onerror='y'>&amp;"

    private func page(_ report: VerificationReport) -> String {
        String(decoding: VerificationPage(report).data, as: UTF8.self)
    }

    @Test(arguments: [
        (VerificationReport.Verdict.match, "Identical"), (.mismatch, "Different"), (.skewed, "Not compared"),
        (.ignored, "Ignored"), (.error, "Not finished"), (.timedOut, "Timed out"),
    ])
    func theVerdictIsTheFirstThingToRead(verdict: VerificationReport.Verdict, headline: String) throws {
        let text = page(try SampleReport.report(verdict))
        #expect(text.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
        let body = try #require(text.range(of: "<body>"))
        #expect(text[body.upperBound...].hasPrefix("<main><header class="))
        #expect(text.contains("<h1>\(headline)</h1><p class=\"sentence\">"))
        #expect(text.components(separatedBy: "<h1>").count == 2)
    }

    @Test func onlyAMatchIsGreen() throws {
        for verdict in VerificationReport.Verdict.allCases {
            let text = page(try SampleReport.report(verdict))
            #expect(text.contains("<header class=\"good\">") == (verdict == .match), "\(verdict)")
        }
    }

    @Test func aPageNeedsNothingFromElsewhere() throws {
        let text = page(try SampleReport.everything(showsValues: true))
        for sign in ["<script", "<link", "<img", "<iframe", "http://", "https://", "@import", "url(", "src="] {
            #expect(!text.contains(sign), "\(sign)")
        }
        #expect(text.contains("default-src 'none'") || text.contains("default-src &#39;none&#39;"))
        #expect(text.contains("prefers-color-scheme: dark"))
    }

    @Test func everyPartOfTheReportIsOnThePage() throws {
        let report = try SampleReport.everything()
        let text = page(report)
        for difference in report.differences { #expect(text.contains("<code>\(difference.differenceID)</code>")) }
        for level in report.levels { #expect(text.contains("<td class=\"\">\(level.name)</td>")) }
        for heading in [
            "Levels", "Records", "Differences", "Ignore rules", "Queries", "Latency", "Anomalies in the data",
        ] { #expect(text.contains("<h2>\(heading)</h2>"), "\(heading)") }
        #expect(text.contains("ignored by notes"))
        #expect(text.contains("(expired, ignores nothing)"))
        #expect(text.contains("danglingReference"))
        #expect(text.contains("<h2>Not compared</h2><ul><li>"))
    }

    @Test func valuesAreOnThePageOnlyWhenTheReportHasThem() throws {
        let redacted = page(try SampleReport.everything())
        #expect(!redacted.contains("Secret"))
        #expect(redacted.contains("text of 3 characters"))
        let shown = page(try SampleReport.everything(showsValues: true))
        // Only the differing part is marked.
        #expect(shown.contains("<bdi>&quot;<mark>Run</mark>&quot;</bdi>"))
        #expect(shown.contains("<bdi>&quot;<mark>Secret</mark>&quot;</bdi>"))
    }

    @Test func nothingFromAStoreIsMarkup() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string(Self.script)])
        let liar = LyingStore(
            pair.b,
            findings: [
                StoreFinding(.damage, Self.script, Self.script, entity: Self.script, attribute: Self.script),
                StoreFinding(.anomaly, Self.script, Self.script, entity: Self.script, attribute: Self.script),
            ]
        )
        var report = try SampleReport.verify(pair, with: liar, names: (Self.script, Self.script)) {
            $0.showsValues = true
            $0.queries = [QueryFile.Query(name: Self.script, entity: "Habit", filter: "name != nil")]
        }
        report.reason = Self.script
        report.notCompared.append(Self.script)
        report.notes.append(Self.script)
        report.queries[0].planA = Self.script
        let rule = try IgnoreRule(name: Self.script, reason: Self.script, query: Self.script, expires: Date())
        report.ignoreRules = [IgnoreRuleUse(rule, now: Date())]
        report.differences[0].ignoredBy = Self.script
        let text = page(report)
        #expect(!text.contains("<script"))
        #expect(!text.contains("<img"))
        #expect(!text.contains("onerror='"))
        #expect(text.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;"))
        // Text that looks like an entity stays text.
        #expect(text.contains("&amp;amp;"))
    }

    @Test func whatLeadsTheEyeAstrayIsNamed() {
        #expect(Markup.text("a\u{202E}b\u{0}c\u{1B}").source == "a⟨U+202E⟩b⟨U+0⟩c⟨U+1B⟩")
    }

    @Test func thePageHasALimitAndSaysWhatIsLeftOut() throws {
        let pair = try StorePair()
        for number in 10..<20 { try StorePair.plant(pair.b, "Entry", StorePair.id(number), ["value": .double(1)]) }
        var report = try pair.verify { $0.maximumDifferences = 3 }
        #expect(page(report).contains("7 more are counted and not listed here."))
        report.differences = Array(repeating: report.differences[0], count: 2 * VerificationPage.maximumRows)
        report.differenceCount = report.differences.count
        let text = page(report)
        #expect(text.contains("\(VerificationPage.maximumRows) more are counted and not listed here."))
        let long = String(repeating: "x", count: 1_000_000)
        report = try SampleReport.report(.mismatch)
        report.showsValues = true
        report.differences[0].a = "\"\(long)a\""
        report.differences[0].b = "\"\(long)b\(long)\""
        #expect(VerificationPage(report).data.count < 20_000)
    }

    @Test func latencyIsDrawnOnOneScale() throws {
        var slow = try #require(try SampleReport.report(.match).queries.first)
        slow.millisecondsA = 0.05
        slow.millisecondsB = 5
        let svg = LatencyChart([slow]).markup.source
        #expect(svg.contains("0.01 ms") && svg.contains("0.10 ms") == false && svg.contains("0.1 ms"))
        #expect(svg.contains("10 ms"))
        #expect(svg.contains(">0.050</text>") && svg.contains(">5.00</text>"))
        // Three decades of 620 points: a time a hundred times as long ends two decades further.
        let widths = svg.matches(of: /class="bar[AB]"[^>]*width="([0-9.]+)"/).compactMap { Double($0.1) }
        #expect(widths.count == 2)
        #expect(abs(widths[1] - widths[0] - 2 * 620 / 3) < 0.2)
        for odd in [0, -1, Double.infinity, .nan] {
            slow.millisecondsA = odd
            let text = LatencyChart([slow]).markup.source
            #expect(!text.contains("nan") && !text.contains("inf"))
        }
    }

    @Test func textsAreDividedIntoWhatIsCommonAndWhatDiffers() {
        let texts = DifferingText("in the rain", "in the park")
        #expect(texts.a == .init(before: "in the ", differing: "rain", after: "", scalars: nil))
        #expect(texts.b == .init(before: "in the ", differing: "park", after: "", scalars: nil))
        let longer = DifferingText("aa", "aaa")
        #expect(longer.a.differing == "" && longer.b.differing == "a")
        let forms = DifferingText("caf\u{E9}", "cafe\u{301}")
        #expect(forms.a.scalars == "U+00E9" && forms.b.scalars == "U+0065 U+0301")
    }
}
