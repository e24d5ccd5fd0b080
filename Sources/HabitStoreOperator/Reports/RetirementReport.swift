import HabitStoreReports
import HabitStoreRollout

/// The result of retiring the stores that users had left.
struct RetirementReport {
    private let results: [UserResult<RetirementOutcome>]
    private let isDry: Bool

    init(_ results: [UserResult<RetirementOutcome>], isDry: Bool) { (self.results, self.isDry) = (results, isDry) }

    private var outcomes: [RetirementOutcome] { results.compactMap { try? $0.result.get() } }

    /// How many stores were removed.
    var removed: Int { outcomes.count(where: \.isRemoved) }

    /// How many stores had already been removed.
    var before: Int { outcomes.count(where: \.wasRemovedBefore) }

    var status: ExitStatus {
        if let failure = results.failures().first { return ErrorReport(failure.error, showsDetail: false).status }
        return outcomes.allSatisfy(\.decision.isOpen) ? .success : .different
    }

    /// A line for each user, with what is left next to the store and why a store was kept.
    func text(hasSummary: Bool) -> String {
        var text = results.map(text).joined()
        if hasSummary {
            let (open, kept) = (outcomes.count(where: \.decision.isOpen), outcomes.count { !$0.decision.isOpen })
            let failed = results.count - outcomes.count
            let before = before > 0 ? "\(before) removed before, " : ""
            text +=
                "\(open - self.before) \(isDry ? "could be " : "")removed, \(before)\(kept) kept, \(failed) failed, of \(results.count)\n"
        }
        return text
    }

    private func text(_ result: UserResult<RetirementOutcome>) -> String {
        var lines: [String]
        switch result.result {
        case .failure(let error): lines = ["\(result.user): FAILED: \(ErrorReport.message(of: error))"]
        case .success(let outcome):
            let word =
                outcome.isRemoved
                ? "is removed"
                : outcome.wasRemovedBefore
                    ? "was removed before" : outcome.decision.isOpen ? "could be removed" : "is kept"
            lines = ["\(result.user): the \(outcome.engine.rawValue) store \(word): \(outcome.place)"]
            lines += outcome.decision.reasons.map { "  - \($0)" }
            if !outcome.leftBeside.isEmpty {
                lines.append("  left next to it, remove by hand: \(outcome.leftBeside.joined(separator: ", "))")
            }
        }
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    /// The result as JSON.
    var json: Document {
        Document(
            isDryRun: isDry,
            users: results.map { result in
                let outcome = try? result.result.get()
                return .init(
                    user: result.user,
                    engine: outcome?.engine.rawValue,
                    place: outcome?.place,
                    isRemoved: outcome?.isRemoved ?? false,
                    wasRemovedBefore: outcome?.wasRemovedBefore ?? false,
                    reasons: outcome?.decision.reasons ?? [],
                    sentences: outcome?.decision.reasons.map(\.description) ?? [],
                    leftBeside: outcome?.leftBeside ?? [],
                    error: [result].failures().first.map { ErrorReport.message(of: $0.error) }
                )
            }
        )
    }

    struct Document: Encodable {
        struct User: Encodable {
            let user: String
            let engine: String?
            let place: String?
            let isRemoved: Bool
            let wasRemovedBefore: Bool
            let reasons: [GateReason]
            let sentences: [String]
            let leftBeside: [String]
            let error: String?
        }

        let isDryRun: Bool
        let users: [User]
    }
}
