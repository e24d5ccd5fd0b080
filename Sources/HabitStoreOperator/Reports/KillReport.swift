import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// The result of pulling the kill switch: the triggers, and the users who were taken back.
struct KillReport {
    /// Stores whose users could not be listed.
    struct Unread {
        /// The stores, in words.
        let what: String
        let error: any Error
    }

    let triggers: KillTriggers
    let pulled: KillTriggers.Pulled
    /// Whether each user is now killed, or why the user could not be taken back.
    let results: [UserResult<Bool>]
    let unread: [Unread]
    /// A message that no user has such stores; nil if some user has.
    let absence: String?

    private var failures: [(user: String, error: any Error)] { results.failures() }

    /// Why a recorded kill is not applied yet; nil if the kill is not recorded.
    private static func recorded(_ error: any Error) -> RecordedKill? {
        (error as? HabitStoreError)?.underlying as? RecordedKill
    }

    private var landed: Int { results.count { (try? $0.result.get()) == true } }

    /// Whether a kill without failures reached no user.
    private var hasReachedNobody: Bool { landed == 0 && failures.isEmpty && unread.isEmpty }

    /// The exit code: the highest of all users. A recorded kill that waits counts unless another user's code is higher.
    var status: ExitStatus {
        let errors = failures.map(\.error) + unread.map(\.error)
        let lost = errors.filter { Self.recorded($0)?.isWaiting != true }
        let statuses = lost.map { ErrorReport($0, showsDetail: false).status }
        if let highest = statuses.max(by: { $0.rawValue < $1.rawValue }) { return highest }
        guard errors.isEmpty else { return .temporaryFailure }
        return hasReachedNobody ? .inputOutput : .success
    }

    var text: String {
        var lines = ["killed for \(triggers.whom)"]
        if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
        if let sentinel = triggers.presentSentinel { lines.append("  by the sentinel file \(sentinel)") }
        for (user, error) in failures {
            lines.append("\(user): NOT TAKEN BACK: \(ErrorReport.message(of: error))")
        }
        for part in unread { lines.append("\(part.what): NOT TAKEN BACK: \(ErrorReport.message(of: part.error))") }
        if let absence { lines.append("\(absence); the kill applies to users who are added later") }
        let spared = results.count - landed - failures.count
        lines.append(
            "\(landed) of \(results.count.counted("user")) \(results.count == 1 ? "is" : "are") on the old store, \(failures.count) could not be taken back"
                + (spared > 0 ? ", \(spared) are not meant" : "")
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSON {
        .object([
            "flag": pulled.isFlagSet ? .string(triggers.flag) : .null,
            "flagFile": .string(triggers.file),
            "flagError": .optional(pulled.flagFailure?.description),
            "sentinel": .optional(triggers.presentSentinel),
            "users": .array(results.map { $0.json("isKilled") }),
            "landed": .int(landed),
            "failed": .int(failures.count),
            "recorded": .int(failures.count { Self.recorded($0.error) != nil }),
            "unread": .array(
                unread.map { .object(["what": .string($0.what), "error": .string(ErrorReport.message(of: $0.error))]) }
            ),
            "absence": .optional(absence),
        ])
    }
}
