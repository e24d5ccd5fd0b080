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
                    .text(side.information.token.description), .text(side.information.role.rawValue),
                ]
            }
        )
    }

    static func count(_ number: Int, _ noun: String) -> String { number.counted(noun) }
}
