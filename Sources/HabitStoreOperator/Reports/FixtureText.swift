import HabitStoreReports
import HabitStoreRollout

/// The verification of a folder of fixtures as text.
enum FixtureText {
    private static let listedProblems = 5

    /// A fixture's line, followed by its problems.
    static func line(_ result: FixtureVerification.Result, _ seconds: Double) -> String {
        let mark = result.passed ? "pass" : "FAIL"
        var text = "\(mark)  \(TerminalText.escaped(result.name)): \(TerminalText.escaped(result.description))"
        text += " (\(seconds.secondsText))\n"
        for problem in result.problems.prefix(listedProblems) where !result.passed {
            text += "      \(TerminalText.escaped(problem))\n"
        }
        if !result.passed, result.problems.count > listedProblems {
            text += "      and \(result.problems.count - listedProblems) more; --format json lists all\n"
        }
        return text
    }

    /// The table of all fixtures, and whether all passed.
    static func summary(
        _ results: [FixtureVerification.Result],
        _ seconds: [Double],
        _ options: TerminalOptions
    ) -> String {
        var table = TextTable([
            .init("fixture"), .init("result", canShrink: false), .init("records", alignment: .right),
            .init("links", alignment: .right), .init("queries", alignment: .right),
            .init("differences", alignment: .right), .init("anomalies", alignment: .right),
            .init("time", alignment: .right),
        ])
        for (result, seconds) in zip(results, seconds) {
            let report = result.report
            table.append([
                result.name,
                result.passed ? "pass" : "FAIL",
                String(report.a.counts.values.reduce(0, +)),
                String(report.levels.first { $0.name == "relationships" }?.compared ?? 0),
                String(report.queries.count),
                String(report.differenceCount),
                String(report.anomalies.reduce(0) { $0 + $1.count }),
                seconds.secondsText,
            ])
        }
        let failed = results.count { !$0.passed }
        let last =
            failed == 0
            ? "all \(results.count) fixtures passed\n" : "\(failed) of \(results.count) fixtures FAILED\n"
        return "\n" + table.text(options) + "\n" + last
    }
}
