import HabitStore

extension Runbook {
    private static let reset = "\(tool) rollout evidence reset --root ROOT --user USER --because TEXT"

    /// One row for each reason of the gate.
    static let reasons: KeyValuePairs<GateReason.Kind, Row> = [
        .stageSkipped: Row(
            json: FlatCase(GateReason.stageSkipped, ["from", "to"]),
            symptom: "A promotion was requested that skips a stage.",
            meaning: "Users move forward one stage at a time: each stage proves something that the next one needs.",
            command: advance,
            check: "\(status) shows the next stage."
        ),
        .alreadyThere: Row(
            json: FlatCase(.alreadyThere),
            symptom: "A promotion was requested to the stage that the user is already in.",
            meaning:
                "Nothing is missing and nothing was done; another process may have moved the user in the meantime.",
            command: "\(tool) rollout status --root ROOT --user USER",
            check: "The row shows the requested stage."
        ),
        .notProposed: Row(
            json: FlatCase(GateReason.notProposed, ["wanted"]),
            symptom: "The user stays at a stage although all proof is there.",
            meaning: "The flag file wants no later stage for this user, names none, or cannot be read.",
            command: "\(tool) flags set habit-store-stage --variant STAGE --file FLAGS",
            check: "\(status) shows the later stage as wanted, and `\(tool) flags lint FLAGS` finds no error."
        ),
        .notTakenBack: Row(
            json: FlatCase(GateReason.notTakenBack, ["wanted", "because"]),
            symptom: "The status shows a wanted stage that is earlier than the user's stage.",
            meaning:
                "Changing a percentage's weights or bucketing does not take back users whom a percentage placed, and a "
                + "stage alone takes no user back from `complete`. All other users go back with their next "
                + "operation.",
            command: "\(tool) rollout demote --root ROOT --user USER --to WANTED",
            check: "\(status) shows the wanted stage, and no reason."
        ),
        .notComplete: Row(
            json: FlatCase(GateReason.notComplete, ["stage"]),
            symptom: "`rollout retire` keeps the old store and names the user's stage.",
            meaning: "The old store is the way back until the user is at `complete`.",
            command: advance,
            check: "\(status) shows `complete`."
        ),
        .retentionNotOver: Row(
            json: FlatCase(GateReason.retentionNotOver, ["seconds"]),
            symptom: "`rollout retire` keeps the old store and says for how many more hours.",
            meaning:
                "The user reached `complete` less than the policy's `retentionSeconds` ago, or no valid evidence says "
                + "when.",
            command: "\(tool) rollout retire --root ROOT --user USER --dry-run",
            check: "Once the time is over, the same command says that the store can be removed."
        ),
        .killed: Row(
            json: FlatCase(.killed),
            symptom: "The user is on the old store and stays there, whatever the flags want.",
            meaning:
                "The kill switch took the user back and stays pulled until a person re-arms it. First find out why it "
                + "was pulled: `\(tool) rollout evidence --root ROOT --user USER` has the line.",
            command: "\(tool) rollout rearm --root ROOT --user USER",
            check: "\(status) no longer says killed."
        ),
        .notBackfilled: Row(
            json: FlatCase(.notBackfilled),
            symptom: "The user stays at `dualwrite`, and the status shows a mirror that is not filled.",
            meaning:
                "The copy into the new store is not finished. After a process dies, copying resumes where it stopped.",
            command: advance,
            check: "\(status) no longer shows the mirror as not filled."
        ),
        .mirrorParted: Row(
            json: FlatCase(.mirrorParted),
            symptom: "The status shows the mirror as parted.",
            meaning:
                "The two stores have different transactions under the same token, as after restoring a backup. The "
                + "serving store is right; the other one can no longer follow it.",
            command: "\(tool) rollout doctor --root ROOT --user USER --fix",
            check:
                "`\(tool) rollout doctor --root ROOT --user USER` finds nothing, and the file that was set aside is "
                + "named."
        ),
        .lagging: Row(
            json: FlatCase(GateReason.lagging, ["transactions"]),
            symptom: "The status shows a mirror that lags and does not catch up.",
            meaning:
                "The following store was slow, busy or not writable. No write was lost: the history has what is "
                + "missing.",
            command: advance,
            check:
                "\(status) shows the mirror as current, also after more writes; `habitstore_mirror_lag_transactions` "
                + "is 0."
        ),
        .verificationMissing: Row(
            json: FlatCase(.verificationMissing),
            symptom: "The gate asks for a verification, and none was made in this stage.",
            meaning: "Proof from an earlier stage, or from before a store was restored, does not count.",
            command: verify,
            check: "The command ends with exit code 0, and \(status) no longer names the reason."
        ),
        .verificationStale: Row(
            json: FlatCase(GateReason.verificationStale, ["seconds"]),
            symptom: "The gate says how old the verification is, or that it is dated in the future.",
            meaning:
                "It is older than the policy's `verificationLifetimeSeconds`, or a clock was wrong when it was "
                + "written.",
            command: verify,
            check: "\(status) no longer names the reason. If it was dated in the future, compare the machines' clocks."
        ),
        .verificationNotClean: Row(
            json: FlatCase(GateReason.verificationNotClean, ["verdict", "differences"]),
            symptom: "The last verification did not end with a match; if it found a difference, a fleet is halted.",
            meaning:
                "With the verdict `mismatch`, a record, a link, an index or a query's answer differs: the report says "
                + "which. With any other verdict the stores could not be compared completely, for example because "
                + "they were written to without a pause.",
            command: verify,
            check:
                "The command ends with exit code 0. If the serving store is right, `\(tool) rollout resync --root ROOT "
                + "--user USER --because TEXT` rebuilds the other one from it and verifies both. If the serving "
                + "store is wrong, take the user back first with `\(tool) rollout demote --root ROOT --user USER`."
        ),
        .coverageIncomplete: Row(
            json: FlatCase(GateReason.coverageIncomplete, ["coverage"]),
            symptom: "The gate says which part of the records was compared.",
            meaning: "The verification ended before it had seen every record: its time limit or a person stopped it.",
            command: verify,
            check: "The report shows a coverage of 100 %."
        ),
        .repairedSince: Row(
            json: FlatCase(.repairedSince),
            symptom: "The gate asks for another verification although the last one matched.",
            meaning: "The mirror was repaired since, and the earlier proof says nothing about the repaired records.",
            command: verify,
            check: "\(status) no longer names the reason."
        ),
        .selfComparisonMissing: Row(
            json: FlatCase(GateReason.selfComparisonMissing, ["side"]),
            symptom: "The gate to `live` asks for a comparison of a store with itself.",
            meaning:
                "Before the new store serves, each store must match its own copy; otherwise no comparison can be "
                + "trusted. A verification makes both comparisons.",
            command: verify,
            check: "`\(tool) rollout evidence --root ROOT --user USER` lists a clean self-comparison of each store."
        ),
        .selfComparisonFailed: Row(
            json: FlatCase(GateReason.selfComparisonFailed, ["side"]),
            symptom: "A store differs from its own copy.",
            meaning:
                "The store's file is damaged, or the comparison itself is wrong. Until that is known, no verdict about "
                + "the user counts.",
            command: "\(tool) check STORE",
            check: "The check finds nothing, and after `\(verify)` the reason is gone."
        ),
        .tooFewShadowReads: Row(
            json: FlatCase(GateReason.tooFewShadowReads, ["have", "need"]),
            symptom: "The gate counts clean shadow reads, and there are fewer than the policy asks for.",
            meaning:
                "They come only from the user's own reads, so a user who seldom opens the app waits long. A "
                + "difference, a repair or a change of stage restarts the count.",
            command: advance,
            check:
                "\(status) shows more clean reads than before. If it does not, look at "
                + "`habitstore_shadow_reads_total`: reads that are skewed, shed or timed out do not count."
        ),
        .shadowDifferences: Row(
            json: FlatCase(GateReason.shadowDifferences, ["count"]),
            symptom: "The two stores answered a read differently; a fleet is halted.",
            meaning:
                "One of the stores is wrong, or was when the read was made. The evidence names the shape of the query "
                + "and the records, without the user's values: `\(tool) rollout evidence --root ROOT --user USER`.",
            command: verify,
            check:
                "The command ends with exit code 0, and \(status) no longer names the reason. If it finds a "
                + "difference, see `verificationNotClean`."
        ),
        .rollbackNotRehearsed: Row(
            json: FlatCase(.rollbackNotRehearsed),
            symptom: "The gate to `live` asks for a rehearsal of the way back.",
            meaning:
                "None was made within the policy's `rehearsalLifetimeSeconds`. The new store serves no user before the "
                + "way back is known to work.",
            command: "\(tool) rollout rehearse --root ROOT --user USER",
            check: "The command says that the way back works."
        ),
        .rehearsalFailed: Row(
            json: FlatCase(.rehearsalFailed),
            symptom: "The last rehearsal of the way back failed.",
            meaning:
                "On copies of the user's stores, the kill switch did not end on an equal store. It would not for the "
                + "user either.",
            command: "\(tool) rollout rehearse --root ROOT --user USER",
            check:
                "The command says that the way back works. Until then its message says what went wrong; `\(tool) "
                + "rollout doctor --root ROOT --user USER` examines the stores themselves."
        ),
        .evidenceExpired: Row(
            json: FlatCase(.evidenceExpired),
            symptom: "There were enough clean shadow reads, but the gate no longer counts them.",
            meaning: "They are older than the policy's `evidenceLifetimeSeconds`, or dated in the future.",
            command: advance,
            check: "\(status) shows enough clean reads once the user has read again."
        ),
        .evidenceDamaged: Row(
            json: FlatCase(GateReason.evidenceDamaged, ["line", "why"]),
            symptom: "The gate names a damaged line of the user's evidence.",
            meaning:
                "The line was changed after it was written. Put the file back if there is a copy of it; otherwise "
                + "reset the evidence, which takes the user to `off` and keeps the damaged file.",
            command: reset,
            check: "`\(tool) rollout evidence verify --root ROOT --user USER` ends with exit code 0."
        ),
        .evidenceUnwritable: Row(
            json: FlatCase(.evidenceUnwritable),
            symptom: "The gate says that the evidence cannot be written.",
            meaning:
                "What cannot be recorded is not proven. The disk is full, or `evidence.jsonl` in the user's folder has "
                + "the wrong permissions; no write of the user's failed because of it.",
            command: "\(tool) rollout doctor --root ROOT --user USER --fix",
            check: "`\(tool) rollout doctor --root ROOT --user USER` finds nothing."
        ),
        .ignoredRules: Row(
            json: FlatCase(GateReason.ignoredRules, ["count"]),
            symptom: "The user stays at `rampdown`, and the verification ended with exit code 2.",
            meaning:
                "Rules of the policy excluded differences. That is allowed during a rollout, but not for completing "
                + "one.",
            command: verify,
            check: "After you remove the rules from the policy, the command ends with exit code 0."
        ),
        .anchorMissing: Row(
            json: FlatCase(.anchorMissing),
            symptom: "The gate says that lines are missing at the end of the evidence.",
            meaning: "The stores remember a line that the file lacks: it was cut off, or put back from a backup.",
            command: reset,
            check: "`\(tool) rollout evidence verify --root ROOT --user USER` ends with exit code 0."
        ),
        .anotherUsersEvidence: Row(
            json: FlatCase(.anotherUsersEvidence),
            symptom: "The gate says that the evidence is another user's, or that the stores are older than it.",
            meaning:
                "The stores have never been moved, but the evidence records moves. A file was copied from another "
                + "folder, or a store was put back from before the rollout.",
            command: reset,
            check: "`\(tool) rollout evidence --root ROOT --user USER` begins with the line that says why."
        ),
    ]
}
