import HabitStoreReports
import HabitStoreRollout

/// The problems of users' folders, and which of them were repaired.
struct DoctorReport {
    /// The findings about a user.
    struct User: Sendable {
        let before: [UserFinding]
        /// The findings left after the repair; nil if none was requested.
        let left: [UserFinding]?
    }

    let results: [UserResult<User>]

    private var users: [(name: String, found: User)] {
        results.compactMap { result in (try? result.result.get()).map { (result.user, $0) } }
    }

    var status: ExitStatus {
        if let failure = results.failures().first { return ErrorReport(failure.error, showsDetail: false).status }
        return users.allSatisfy { ($0.found.left ?? $0.found.before).isEmpty } ? .success : .different
    }

    var text: String {
        var lines: [String] = []
        for (user, error) in results.failures() {
            lines.append("\(user): NOT CHECKED: \(ErrorReport.message(of: error))")
        }
        var (mended, open) = (0, 0)
        for (user, found) in users {
            let left = found.left ?? found.before
            for finding in found.before {
                let isMended = !left.contains { $0.kind == finding.kind }
                mended += isMended ? 1 : 0
                lines.append("\(user): \(isMended ? "repaired: " : "")\(finding.message): \(finding.remedy)")
            }
            for finding in left where !found.before.contains(where: { $0.kind == finding.kind }) {
                lines.append("\(user): \(finding.message): \(finding.remedy)")
            }
            open += left.count
        }
        lines.append("\(results.count.counted("user")) checked, \(mended.counted("finding")) repaired, \(open) open")
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSON {
        func list(_ findings: [UserFinding]) -> JSON {
            .array(
                findings.map { finding in
                    .object([
                        "kind": .string(finding.kind.rawValue), "message": .string(finding.message),
                        "remedy": .string(finding.remedy), "canBeMended": .bool(finding.canBeMended),
                    ])
                }
            )
        }
        return .object([
            "users": .array(
                results.map { result in
                    var fields: [String: JSON] = ["user": .string(result.user)]
                    switch result.result {
                    case .success(let found):
                        fields["findings"] = list(found.before)
                        if let left = found.left { fields["left"] = list(left) }
                    case .failure(let error): fields["error"] = .string(ErrorReport.message(of: error))
                    }
                    return .object(fields)
                }
            )
        ])
    }
}
