import HabitStore

extension GateReason: CustomStringConvertible {
    /// One sentence: what is missing, and how to provide it.
    public var description: String { sentence(user: "U") }

    /// The same, with the user in its commands.
    ///
    /// - Parameter user: the user's id, as typed into a shell.
    package func sentence(user: String) -> String {
        switch self {
        case .stageSkipped(let from, let to):
            "\(to) cannot follow \(from): go one stage at a time with `\(OperatorCommand.name) rollout advance --user \(user)`"
        case .alreadyThere: "the user is in this stage already"
        case .notProposed(let wanted):
            (wanted.map { "the flags want \($0) for this user and nothing further" }
                ?? "the flags propose no stage for this user")
                + ": change the flag file first, with `\(OperatorCommand.name) flags set habit-store-stage`"
        case .notTakenBack(let wanted, let hold):
            "the flags want \(wanted) for this user, " + hold.sentence(wanted, user)
        case .notComplete(let stage):
            "the user is at \(stage), and the old store is removed only at complete: "
                + "`\(OperatorCommand.name) rollout advance --user \(user)` takes the user there"
        case .retentionNotOver(let seconds):
            "the old store is kept for \(Self.hours(seconds)) more: run `\(OperatorCommand.name) rollout retire` then, or ask for less "
                + "with retentionSeconds in the policy"
        case .killed: "the kill switch is pulled: arm it again with `\(OperatorCommand.name) rollout rearm`"
        case .notBackfilled:
            "the mirror is not filled yet: `\(OperatorCommand.name) rollout advance --user \(user)` fills it"
        case .mirrorParted:
            "the mirror has diverged from the serving store and cannot follow it: "
                + "`\(OperatorCommand.name) rollout doctor --user \(user) --fix` sets its file aside, and a new one is copied"
        case .lagging(let transactions):
            "the mirror is \(Self.count(transactions, "transaction")) behind: "
                + "`\(OperatorCommand.name) rollout advance --user \(user)` catches it up"
        case .verificationMissing: "the stores were not verified in this stage: \(Self.verify(user))"
        case .verificationStale(let seconds):
            seconds < 0
                ? "the verification is dated \(Self.hours(-seconds)) in the future: \(Self.verify(user))"
                : "the verification is \(Self.hours(seconds)) old, which is too long: \(Self.verify(user))"
        case .verificationNotClean(let verdict, let differences):
            "the last verification ended with \(verdict) and \(Self.count(differences, "difference")): "
                + "resolve what it found, then \(Self.verify(user))"
        case .coverageIncomplete(let coverage):
            "the verification covered \(Self.percent(coverage)) of the records, and 100 % are needed: \(Self.verify(user))"
        case .repairedSince: "the mirror was repaired after the verification: \(Self.verify(user))"
        case .selfComparisonMissing(let side):
            "the \(side.rawValue) store was not compared with itself lately: \(Self.verify(user))"
        case .selfComparisonFailed(let side):
            "the \(side.rawValue) store differs from itself, so no comparison can be trusted: "
                + "run `\(OperatorCommand.name) check` on it, then \(Self.verify(user))"
        case .tooFewShadowReads(let have, let need):
            "\(have) of \(need) clean shadow reads were made in this stage since the last difference or repair: "
                + "wait for the user's reads, then run `\(OperatorCommand.name) rollout advance --user \(user)` again"
        case .shadowDifferences(let count):
            "\(Self.count(count, "difference")) between the stores came up in this stage, with no clean verification "
                + "since: \(Self.verify(user))"
        case .rollbackNotRehearsed: "the way back was not rehearsed lately: \(Self.rehearse(user))"
        case .rehearsalFailed:
            "the last rehearsal of the way back failed: resolve what it found, then \(Self.rehearse(user))"
        case .evidenceExpired:
            "too many of the clean shadow reads are too old, or dated in the future: wait for the user's next reads"
        case .evidenceDamaged(let line, let why):
            "the evidence is damaged in line \(line) (\(why)) and no longer proves anything: \(Self.reset(user))"
        case .evidenceUnwritable:
            "the evidence cannot be written, and what cannot be recorded is not proven: check the permissions and "
                + "space of the user's evidence.jsonl, then run `\(OperatorCommand.name) rollout advance --user "
                + "\(user)` again"
        case .ignoredRules(let count):
            "the verification ignored something by \(Self.count(count, "rule")): remove the rules, then \(Self.verify(user))"
        case .anchorMissing:
            "the evidence lacks what the stores remember of it, so lines are missing at its end: \(Self.reset(user))"
        case .anotherUsersEvidence:
            "the stores have never been moved, but the evidence says otherwise: it is another user's, or the stores are older "
                + "than it: \(Self.reset(user))"
        }
    }

    private static func verify(_ user: String) -> String {
        "run `\(OperatorCommand.name) rollout verify --user \(user)`"
    }

    private static func reset(_ user: String) -> String {
        "`\(OperatorCommand.name) rollout evidence --user \(user)` shows it, and `\(OperatorCommand.name) rollout evidence reset` restarts it"
    }

    private static func rehearse(_ user: String) -> String {
        "run `\(OperatorCommand.name) rollout rehearse --user \(user)`"
    }

    private static func count(_ number: Int, _ noun: String) -> String { number.counted(noun) }

    /// Rounds down, so that only the whole is 100 %.
    private static func percent(_ part: Double) -> String { "\((part * 10_000).rounded(.down) / 100) %" }

    private static func hours(_ seconds: Double) -> String { "\((seconds / 360).rounded() / 10) h" }
}

extension GateReason.Hold {
    /// The rest of a sentence that begins with what the flags want.
    fileprivate func sentence(_ wanted: Stage, _ user: String) -> String {
        let demote = "`\(OperatorCommand.name) rollout demote --user \(user) --to \(wanted)` does"
        return switch self {
        case .percentage: "by a percentage, which takes no user back whom a percentage placed: \(demote)"
        case .unknownPlacement:
            "by a percentage, and an earlier version did not write down whether a rule or a percentage placed the user, so nothing takes the "
                + "user back: \(demote)"
        case .complete: "and a stage alone takes no user back from complete: \(demote), and so does habit-store-backend"
        case .disagreement:
            "and another flag file has put the user here since this one did: edit this one again, or \(demote)"
        case .pending:
            "and the next operation takes the user there; if one has failed, its note says why, and \(demote) the same"
        }
    }
}
