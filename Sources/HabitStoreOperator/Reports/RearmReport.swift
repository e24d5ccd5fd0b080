import HabitStoreReports

/// The result of re-arming the kill switch.
struct RearmReport {
    let triggers: KillTriggers
    let rearmed: KillTriggers.Rearmed
    /// Whether a kill of all users was recorded.
    let isRootRearmed: Bool
    /// Whether each user had been killed, or why the user could not be re-armed.
    let results: [UserResult<Bool>]

    private var failures: [(user: String, error: any Error)] { results.failures() }

    private var count: Int { results.count { (try? $0.result.get()) == true } }

    var status: ExitStatus {
        failures.first.map { ErrorReport($0.error, showsDetail: false).status } ?? .success
    }

    var text: String {
        var lines: [String] = []
        if rearmed.isFlagRearmed { lines.append("the flag \(triggers.flag) in \(triggers.file) is taken back") }
        if let removed = rearmed.removedSentinel { lines.append("the sentinel file \(removed) is removed") }
        if isRootRearmed { lines.append("the record of the kill for everybody is removed") }
        for (user, error) in failures {
            lines.append("\(user): NOT RE-ARMED: \(ErrorReport.message(of: error))")
        }
        let rest = results.count - count - failures.count
        lines.append("\(count) re-armed, \(rest) had not been killed, \(failures.count) failed, of \(results.count)")
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSON {
        .object([
            "isFlagRearmed": .bool(rearmed.isFlagRearmed),
            "isSentinelRemoved": .bool(rearmed.removedSentinel != nil),
            "isRootRearmed": .bool(isRootRearmed),
            "users": .array(results.map { $0.json("wasKilled") }),
            "rearmed": .int(count),
            "failed": .int(failures.count),
        ])
    }
}
