import ShadowVerifier

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
