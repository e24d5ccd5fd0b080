import HabitStoreReports

/// What pulling the kill switch came to: the triggers, and who was taken back.
struct KillReport {
    /// Stores in which nobody could be looked for.
    struct Unread {
        /// Which, in words.
        let what: String
        let error: any Error
    }

    let triggers: KillTriggers
    let pulled: KillTriggers.Pulled
    /// Whether each user is killed now, or why the user could not be taken back.
    let results: [UserResult<Bool>]
    let unread: [Unread]
    /// That nobody has the store that is named; nil where somebody has.
    let absence: String?

    private var failures: [(user: String, error: any Error)] { results.failures() }

    private var landed: Int { results.count { (try? $0.result.get()) == true } }
    private var isSentinelThere: Bool { triggers.users == nil && triggers.sentinel.isPresent }

    /// The exit code: the highest, whoever came first.
    var status: ExitStatus {
        let statuses = (failures.map(\.error) + unread.map(\.error)).map { ErrorReport($0, showsDetail: false).status }
        return statuses.max { $0.rawValue < $1.rawValue } ?? (absence == nil ? .success : .inputOutput)
    }

    var text: String {
        var lines = ["killed for \(triggers.whom)"]
        if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
        if isSentinelThere { lines.append("  by the sentinel file \(triggers.sentinel.path)") }
        for (user, error) in failures {
            lines.append("\(user): NOT TAKEN BACK: \(ErrorReport.message(of: error))")
        }
        for part in unread { lines.append("\(part.what): NOT TAKEN BACK: \(ErrorReport.message(of: part.error))") }
        if let absence { lines.append("\(absence); the kill waits for those who come") }
        let spared = results.count - landed - failures.count
        lines.append(
            "\(landed) of \(results.count) users are on the old store, \(failures.count) could not be taken back"
                + (spared > 0 ? ", \(spared) are not meant" : "")
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSON {
        .object([
            "flag": pulled.isFlagSet ? .string(triggers.flag) : .null,
            "flagFile": .string(triggers.file),
            "flagError": .optional(pulled.flagFailure?.description),
            "sentinel": isSentinelThere ? .string(triggers.sentinel.path) : .null,
            "users": .array(results.map { $0.json("isKilled") }),
            "landed": .int(landed),
            "failed": .int(failures.count),
            "unread": .array(
                unread.map { .object(["what": .string($0.what), "error": .string(ErrorReport.message(of: $0.error))]) }
            ),
            "absence": .optional(absence),
        ])
    }
}
