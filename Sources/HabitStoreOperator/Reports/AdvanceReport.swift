import HabitStoreReports
import HabitStoreRollout

/// The result of moving users forward.
struct AdvanceReport {
    private let reports: [PromotionReport]
    private let failures: [(user: String, error: any Error)]

    init(_ results: [UserResult<PromotionReport>]) {
        reports = results.compactMap { try? $0.result.get() }
        failures = results.compactMap { result in
            guard case .failure(let error) = result.result else { return nil }
            return (result.user, error)
        }
    }

    var status: ExitStatus {
        if let failure = failures.first { return ErrorReport(failure.error, showsDetail: false).status }
        if reports.contains(where: { $0.flagFailure != nil }) { return .data }
        return reports.contains(where: \.isRefused) ? .different : .success
    }

    /// A line for each user who moved, was kept back or failed, and for many users a summary.
    func text(_ options: TerminalOptions, hasSummary: Bool) -> String {
        let told = hasSummary ? reports.filter { $0.from != $0.to || $0.isRefused } : reports
        var text = told.map(\.text).joined()
        for (user, error) in failures {
            text += TerminalText.escaped("\(user): FAILED: \(ErrorReport.message(of: error))") + "\n"
        }
        guard hasSummary else { return text }
        // Mostly one reason for all users, printed once.
        let unread = Dictionary(grouping: reports.compactMap(\.flagFailure), by: \.self).sorted { $0.key < $1.key }
        for (reason, users) in unread {
            let line =
                "\(users.count) of \((reports.count + failures.count).counted("user")) could not be moved by the flags: \(reason)"
            text += TerminalText.escaped(line) + "\n"
        }
        var table = TextTable([
            .init("stage"), .init("users", alignment: .right), .init("kept back", alignment: .right),
        ])
        for stage in Stage.allCases {
            let here = reports.filter { $0.to == stage }
            table.append([stage.rawValue, String(here.count), String(here.count(where: \.isRefused))])
        }
        let moved = reports.count { $0.from != $0.to }
        let last =
            "\(moved) moved, \(reports.count(where: \.isRefused)) not where the flags want, \(failures.count) failed, "
            + "of \(reports.count + failures.count)\n"
        return text + (text.isEmpty ? "" : "\n") + table.text(options) + "\n" + last
    }

    /// The result as JSON.
    var json: Document {
        Document(
            users: reports,
            failures: failures.map { .init(user: $0.user, message: ErrorReport.message(of: $0.error)) },
            moved: reports.count { $0.from != $0.to },
            keptBack: reports.count(where: \.isRefused)
        )
    }

    struct Document: Encodable {
        struct Failure: Encodable {
            let user: String
            let message: String
        }

        let users: [PromotionReport]
        let failures: [Failure]
        let moved: Int
        let keptBack: Int
    }
}
