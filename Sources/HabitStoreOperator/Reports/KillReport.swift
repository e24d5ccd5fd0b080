import FeatureFlags
import HabitStoreReports

/// What pulling the kill switch came to: the triggers, and who was taken back.
struct KillReport {
    let triggers: KillTriggers
    let isFlagSet: Bool
    let flagFailure: FlagError?
    /// Whether each user is killed now, or why the user could not be taken back.
    let results: [UserResult<Bool>]

    private var failures: [(user: String, error: any Error)] { results.failures() }

    private var landed: Int { results.count { (try? $0.result.get()) == true } }
    private var isSentinelThere: Bool { triggers.users == nil && triggers.sentinel.isPresent }

    /// The exit code.
    var status: ExitStatus {
        failures.first.map { ErrorReport($0.error, showsDetail: false).status } ?? .success
    }

    var text: String {
        var lines = ["killed for \(triggers.whom)"]
        if isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
        if isSentinelThere { lines.append("  by the sentinel file \(triggers.sentinel.path)") }
        for (user, error) in failures {
            lines.append("\(user): NOT TAKEN BACK: \(ErrorReport.message(of: error))")
        }
        let spared = results.count - landed - failures.count
        lines.append(
            "\(landed) of \(results.count) users are on the old store, \(failures.count) could not be taken back"
                + (spared > 0 ? ", \(spared) are not meant" : "")
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSON {
        .object([
            "flag": isFlagSet ? .string(triggers.flag) : .null,
            "flagFile": .string(triggers.file),
            "flagError": .optional(flagFailure?.description),
            "sentinel": isSentinelThere ? .string(triggers.sentinel.path) : .null,
            "users": .array(results.map { $0.json("isKilled") }),
            "landed": .int(landed),
            "failed": .int(failures.count),
        ])
    }
}
