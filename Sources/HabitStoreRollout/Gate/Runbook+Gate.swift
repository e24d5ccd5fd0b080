import HabitStore

extension Runbook {
    static func entry(of kind: GateReason.Kind) -> RunbookEntry {
        switch kind {
        case .stageSkipped: .stageSkipped
        case .alreadyThere: .alreadyThere
        case .notProposed: .notProposed
        case .notTakenBack: .notTakenBack
        case .notComplete: .notComplete
        case .retentionNotOver: .retentionNotOver
        case .killed: .killed
        case .notBackfilled: .notBackfilled
        case .mirrorParted: .mirrorParted
        case .lagging: .lagging
        case .verificationMissing: .verificationMissing
        case .verificationStale: .verificationStale
        case .verificationNotClean: .verificationNotClean
        case .coverageIncomplete: .coverageIncomplete
        case .repairedSince: .repairedSince
        case .selfComparisonMissing: .selfComparisonMissing
        case .selfComparisonFailed: .selfComparisonFailed
        case .tooFewShadowReads: .tooFewShadowReads
        case .shadowDifferences: .shadowDifferences
        case .rollbackNotRehearsed: .rollbackNotRehearsed
        case .rehearsalFailed: .rehearsalFailed
        case .evidenceExpired: .evidenceExpired
        case .evidenceDamaged: .evidenceDamaged
        case .evidenceUnwritable: .evidenceUnwritable
        case .ignoredRules: .ignoredRules
        case .anchorMissing: .anchorMissing
        case .anotherUsersEvidence: .anotherUsersEvidence
        }
    }
}

// MARK: Where the user is, and what the flags want

extension RunbookEntry {
    fileprivate static let stageSkipped = Self(
        .stageSkipped,
        symptom: "A promotion was asked for that leaves out a stage.",
        meaning: "Users go forward one stage at a time, since each stage proves something that the next one needs.",
        command: advance,
        check: "\(status) shows the next stage."
    )

    fileprivate static let alreadyThere = Self(
        .alreadyThere,
        symptom: "A promotion was asked for to the stage that the user is at.",
        meaning: "Nothing is missing and nothing was done; another process may have moved the user in the meantime.",
        command: "\(OperatorCommand.name) rollout status --root ROOT --user USER",
        check: "The row shows the stage that was asked for."
    )

    fileprivate static let notProposed = Self(
        .notProposed,
        symptom: "The user stays at a stage although all proof is there.",
        meaning: "The flag file wants no later stage for this user, names none, or cannot be read.",
        command: "\(OperatorCommand.name) flags set habit-store-stage --variant STAGE --file FLAGS",
        check:
            "\(status) shows the later stage as wanted, and `\(OperatorCommand.name) flags lint FLAGS` finds no error."
    )

    fileprivate static let notTakenBack = Self(
        .notTakenBack,
        symptom: "The status shows an earlier stage as wanted than the one that the user is at.",
        meaning:
            "A percentage whose weights or bucketing changed takes back nobody whom a percentage placed, and a stage alone nobody from "
            + "`complete`. Everybody else goes back with the next operation.",
        command: "\(OperatorCommand.name) rollout demote --root ROOT --user USER --to WANTED",
        check: "\(status) shows the wanted stage, and no reason."
    )

    fileprivate static let notComplete = Self(
        .notComplete,
        symptom: "`rollout retire` keeps the old store, and names the stage that the user is at.",
        meaning: "The store that was left is the way back until the user is at `complete`.",
        command: advance,
        check: "\(status) shows `complete`."
    )

    fileprivate static let retentionNotOver = Self(
        .retentionNotOver,
        symptom: "`rollout retire` keeps the old store, and says for how many hours more.",
        meaning:
            "The user came to `complete` less than the policy's `retentionSeconds` ago, or nothing that counts says when.",
        command: "\(OperatorCommand.name) rollout retire --root ROOT --user USER --dry-run",
        check: "Once the time is over, the same command says that the store can be removed."
    )

    fileprivate static let killed = Self(
        .killed,
        symptom: "The user is on the old store and goes nowhere, whatever the flags want.",
        meaning:
            "The kill switch took the user back, and it stays pulled until a person re-arms it. Find out first why it was pulled: "
            + "`\(OperatorCommand.name) rollout evidence --root ROOT --user USER` has the line.",
        command: "\(OperatorCommand.name) rollout rearm --root ROOT --user USER",
        check: "\(status) does not say killed any more."
    )
}

// MARK: The mirror

extension RunbookEntry {
    fileprivate static let notBackfilled = Self(
        .notBackfilled,
        symptom: "The user stays at `dualwrite`, and the status shows a mirror that is not filled.",
        meaning: "The new store has not been copied to its end yet. Copying goes on where it was when a process died.",
        command: advance,
        check: "\(status) shows how far the mirror is behind, instead of not filled."
    )

    fileprivate static let mirrorParted = Self(
        .mirrorParted,
        symptom: "The status shows a mirror that has parted.",
        meaning:
            "The two stores hold different transactions under the same token, as after a restored backup. The store that serves is "
            + "right; the other one cannot follow it any more.",
        command: "\(OperatorCommand.name) rollout doctor --root ROOT --user USER --fix",
        check:
            "`\(OperatorCommand.name) rollout doctor --root ROOT --user USER` finds nothing, and the file that was set aside is named."
    )

    fileprivate static let lagging = Self(
        .lagging,
        symptom: "The status shows a mirror that is transactions behind, and stays so.",
        meaning:
            "The store that follows was slow, busy or could not be written to. No write was lost: the history holds what is missing.",
        command: advance,
        check:
            "\(status) shows a mirror that is 0 behind, also some writes later; `habitstore_mirror_lag_transactions` is 0."
    )
}

// MARK: Verifying

extension RunbookEntry {
    fileprivate static let verificationMissing = Self(
        .verificationMissing,
        symptom: "The gate asks for a verification in a stage in which none was made.",
        meaning: "What was proven in an earlier stage, or before a store was put back, does not count.",
        command: verify,
        check: "The command ends with exit code 0, and \(status) does not name the reason any more."
    )

    fileprivate static let verificationStale = Self(
        .verificationStale,
        symptom: "The gate says how old the verification is, or that it is dated in the future.",
        meaning:
            "It is older than the policy's `verificationLifetimeSeconds`, or a clock was wrong when it was written.",
        command: verify,
        check:
            "\(status) does not name the reason any more. If it was dated in the future, compare the machines' clocks."
    )

    fileprivate static let verificationNotClean = Self(
        .verificationNotClean,
        symptom:
            "The last verification came to something else than a match; a fleet is halted where it found a difference.",
        meaning:
            "With the verdict `mismatch` a record, a link, an index or a query's answer differs: the report says which. With another "
            + "verdict the stores could not be compared to the end, as while they are written to without a moment's rest.",
        command: verify,
        check:
            "The command ends with exit code 0. Where the store that serves is right, `\(OperatorCommand.name) rollout resync --root ROOT --user USER "
            + "--because TEXT` rebuilds the other one from it and verifies both. Where the store that serves is wrong, take the user back first "
            + "with `\(OperatorCommand.name) rollout demote --root ROOT --user USER`."
    )

    fileprivate static let coverageIncomplete = Self(
        .coverageIncomplete,
        symptom: "The gate says which part of the records was compared.",
        meaning: "The verification was ended before it had seen every record, by its time limit or by a person.",
        command: verify,
        check: "The report shows a coverage of 100 %."
    )

    fileprivate static let repairedSince = Self(
        .repairedSince,
        symptom: "The gate asks for another verification although the last one matched.",
        meaning: "The mirror was repaired since, and what was proven before says nothing of the repaired records.",
        command: verify,
        check: "\(status) does not name the reason any more."
    )

    fileprivate static let selfComparisonMissing = Self(
        .selfComparisonMissing,
        symptom: "The gate to `live` asks for a comparison of a store with itself.",
        meaning:
            "Before the new store serves, each store has to come out clean of a comparison with its own copy: else no comparison "
            + "can be believed. A verification makes both.",
        command: verify,
        check:
            "`\(OperatorCommand.name) rollout evidence --root ROOT --user USER` lists a clean self-comparison of each store."
    )

    fileprivate static let selfComparisonFailed = Self(
        .selfComparisonFailed,
        symptom: "A store differs from its own copy.",
        meaning:
            "The store's file is damaged, or the comparison itself is at fault. Until that is known no verdict about the user counts.",
        command: "\(OperatorCommand.name) check STORE",
        check: "The check finds nothing, and after `\(verify)` the reason is gone."
    )

    fileprivate static let ignoredRules = Self(
        .ignoredRules,
        symptom: "The user stays at `rampdown`, and the verification ended with exit code 2.",
        meaning:
            "Rules of the policy set differences aside. That is allowed on the way, and nobody completes a rollout with it.",
        command: verify,
        check: "With the rules removed from the policy the command ends with exit code 0."
    )
}

// MARK: Reads

extension RunbookEntry {
    fileprivate static let tooFewShadowReads = Self(
        .tooFewShadowReads,
        symptom: "The gate counts clean shadow reads, and there are fewer than the policy asks for.",
        meaning:
            "They come from what the user reads; nothing else makes them. Whoever seldom opens the app waits long. A difference, a "
            + "repair or a change of stage begins the count anew.",
        command: advance,
        check:
            "\(status) shows more clean reads than before. Where it does not, look at `habitstore_shadow_reads_total`: reads that "
            + "are skewed, shed or timed out do not count."
    )

    fileprivate static let shadowDifferences = Self(
        .shadowDifferences,
        symptom: "A read was answered differently by the two stores; a fleet is halted.",
        meaning:
            "One of the stores is wrong, or was when the read was made. The evidence names the shape of the question and the records, "
            + "without the user's values: `\(OperatorCommand.name) rollout evidence --root ROOT --user USER`.",
        command: verify,
        check:
            "The command ends with exit code 0 and \(status) does not name the reason any more. If it finds a difference, see "
            + "`verificationNotClean`."
    )

    fileprivate static let evidenceExpired = Self(
        .evidenceExpired,
        symptom: "There were enough clean shadow reads, and the gate does not count them any more.",
        meaning: "They are older than the policy's `evidenceLifetimeSeconds`, or dated in the future.",
        command: advance,
        check: "\(status) shows enough clean reads once the user has read again."
    )
}

// MARK: The way back

extension RunbookEntry {
    fileprivate static let rollbackNotRehearsed = Self(
        .rollbackNotRehearsed,
        symptom: "The gate to `live` asks for a rehearsal of the way back.",
        meaning:
            "None was made in the policy's `rehearsalLifetimeSeconds`. Nobody is served by the new store before the way back is known "
            + "to work.",
        command: "\(OperatorCommand.name) rollout rehearse --root ROOT --user USER",
        check: "The command says that the way back works."
    )

    fileprivate static let rehearsalFailed = Self(
        .rehearsalFailed,
        symptom: "The last rehearsal of the way back failed.",
        meaning:
            "On copies of the user's stores the kill switch did not land on a store that is equal. It would not for the user either.",
        command: "\(OperatorCommand.name) rollout rehearse --root ROOT --user USER",
        check:
            "The command says that the way back works. Until then its message says what went wrong; `\(OperatorCommand.name) rollout doctor "
            + "--root ROOT --user USER` looks at the stores themselves."
    )
}

// MARK: The evidence

extension RunbookEntry {
    private static let reset = "\(OperatorCommand.name) rollout evidence reset --root ROOT --user USER --because TEXT"

    fileprivate static let evidenceDamaged = Self(
        .evidenceDamaged,
        symptom: "The gate names a line of the user's evidence that is damaged.",
        meaning:
            "The line is not as it was written. Put the file back if there is a copy of it; otherwise begin the evidence anew, which "
            + "takes the user to `off` and keeps the damaged file.",
        command: reset,
        check: "`\(OperatorCommand.name) rollout evidence verify --root ROOT --user USER` ends with exit code 0."
    )

    fileprivate static let evidenceUnwritable = Self(
        .evidenceUnwritable,
        symptom: "The gate says that the evidence cannot be written.",
        meaning:
            "What cannot be recorded has not been proven. The disk is full, or the permissions of `evidence.jsonl` in the user's folder "
            + "are wrong; no write of the user's has failed by it.",
        command: "\(OperatorCommand.name) rollout doctor --root ROOT --user USER --fix",
        check: "`\(OperatorCommand.name) rollout doctor --root ROOT --user USER` finds nothing."
    )

    fileprivate static let anchorMissing = Self(
        .anchorMissing,
        symptom: "The gate says that lines are missing at the end of the evidence.",
        meaning: "The stores remember a line that the file does not have: it was cut off, or put back from a backup.",
        command: reset,
        check: "`\(OperatorCommand.name) rollout evidence verify --root ROOT --user USER` ends with exit code 0."
    )

    fileprivate static let anotherUsersEvidence = Self(
        .anotherUsersEvidence,
        symptom: "The gate says that the evidence is another user's, or that the stores are older than it.",
        meaning:
            "The stores have never been moved, and the evidence tells of moves. A file was copied from another folder, or a store was "
            + "put back from before the rollout.",
        command: reset,
        check: "`\(OperatorCommand.name) rollout evidence --root ROOT --user USER` begins with the line that says why."
    )
}
