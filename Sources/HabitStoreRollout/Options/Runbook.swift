import HabitStore

/// What to do about each reason for which a user waits or a fleet is halted: by reason of the gate, by what halted the fleet, and by error code.
///
/// `habitstore rollout runbook` prints it, and the article *Runbook* is generated from it.
public enum Runbook {
    /// Why a fleet is halted.
    public enum Halt: String, Sendable, Hashable, Codable, CaseIterable {
        /// A user's stores differ.
        case haltedByDifference
        /// Too many users in a row could not be moved or checked.
        case haltedByErrors
        /// Too many verifications of one user in a row were inconclusive.
        case haltedWithoutConclusion
        /// More users of a wave were taken back than the plan allows.
        case haltedByDemotions
        /// Processes waited for the disk too much of the time.
        case haltedByDisk
        /// Users' writes became slower.
        case haltedBySlowWrites
        /// A person halted it.
        case haltedByPerson
    }

    /// All entries: the gate's reasons, then what halts a fleet, then errors. Kinds are unique.
    public static let entries = entries(of: reasons) + entries(of: halts) + entries(of: errors)

    /// The entry of a kind; nil if there is none.
    public static func entry(_ kind: String) -> RunbookEntry? { byKind[kind] }

    private static let byKind = Dictionary(entries.map { ($0.kind, $0) }) { first, _ in first }

    /// A row of the tables.
    struct Row: Sendable {
        /// The JSON form of a reason of the gate.
        var json: FlatCase<GateReason>?
        let symptom: String
        let meaning: String
        let command: String
        let check: String
    }

    private static func entries(of rows: KeyValuePairs<some RawRepresentable<String>, Row>) -> [RunbookEntry] {
        rows.map { kind, row in
            RunbookEntry(
                kind: kind.rawValue,
                symptom: row.symptom,
                meaning: row.meaning,
                command: row.command,
                check: row.check
            )
        }
    }

    static let tool = OperatorCommand.name
    /// The command that shows the user's status.
    static let status = "`\(tool) rollout status --root ROOT --user USER`"
    /// The command that moves the user on, providing missing proof.
    static let advance = "\(tool) rollout advance --root ROOT --user USER"
    /// The command that compares the user's stores completely.
    static let verify = "\(tool) rollout verify --root ROOT --user USER"
}

/// What to do about one reason for which a user waits, or a fleet is halted.
public struct RunbookEntry: Sendable, Hashable, Codable {
    /// The reason's stable name, as in the evidence, the fleet's index and metrics.
    public let kind: String
    /// The symptom that an operator sees.
    public let symptom: String
    /// The cause, and what it means for the user.
    public let meaning: String
    /// The command that helps, or tells more. `ROOT`, `USER` and other words in capitals are placeholders.
    public let command: String
    /// How to check that it helped.
    public let check: String
}

extension Runbook {
    /// The article: the text of `Documentation.docc/Runbook.md`.
    package static var markdown: String {
        """
        # Runbook

        What to do about each reason for which a user waits or a fleet is halted.

        This file is generated from the list of reasons that the gate and the fleet use; a test compares the two. `habitstore rollout
        runbook KIND` prints one entry. Words in capitals are placeholders: `ROOT` for the root of the users' folders, `USER` for the user.

        ## Reasons of the gate

        `\(OperatorCommand.name) rollout status` and `\(OperatorCommand.name) fleet status` name them, and `habitstore_gate_refusals_total` counts them.

        \(sections(reasons))

        ## A halted fleet

        `\(OperatorCommand.name) fleet status` says who or what halted it, and why. No user is moved until `\(OperatorCommand.name) fleet resume`.

        \(sections(halts))

        ## Errors

        A user who could not be moved or examined waits; the reason is the error's code.

        \(sections(errors))

        """
    }

    private static func sections(_ rows: KeyValuePairs<some RawRepresentable<String>, Row>) -> String {
        entries(of: rows).map { entry in
            """
            ### \(entry.kind)

            \(entry.symptom) \(entry.meaning)

            ```sh
            \(entry.command)
            ```

            *Check:* \(entry.check)
            """
        }.joined(separator: "\n\n")
    }
}

extension Runbook {
    private static let fleet = "`\(tool) fleet status --root ROOT`"
    private static let resume = "\(tool) fleet resume --root ROOT --because TEXT"
    private static let goesOn =
        "After `\(resume)` and `\(tool) fleet run --root ROOT`, \(fleet) shows it running"

    /// One row for each kind of halt.
    static let halts: KeyValuePairs<Halt, Row> = [
        .haltedByDifference: Row(
            symptom: "The fleet is halted because a user's stores differ; \(fleet) lists all such users.",
            meaning:
                "A shadow read or a verification found a new difference, or one that no complete verification has "
                + "refuted since. No user is moved until a person has looked at it: if it is a bug, other users "
                + "have it too. Resuming refutes nothing.",
            command: verify,
            check:
                "The command ends with exit code 0 for each of the users once the difference is resolved (see "
                + "`verificationNotClean`), and \(fleet) lists none. \(goesOn)."
        ),
        .haltedByErrors: Row(
            symptom: "The fleet is halted after several errors in a row, of any users; the last one is shown.",
            meaning:
                "Something that all users need is missing: space, permissions, a server, a library, memory. The entry "
                + "for the error's code says more.",
            command: "\(tool) rollout doctor --root ROOT --all",
            check: "The doctor finds nothing that keeps stores from being read. \(goesOn)."
        ),
        .haltedWithoutConclusion: Row(
            symptom: "The fleet is halted because verifications of one user were inconclusive.",
            meaning: "The user's stores are written to without a pause, or a comparison takes longer than its limit.",
            command: verify,
            check: "The command ends with exit code 0 at a quieter time. \(goesOn)."
        ),
        .haltedByDemotions: Row(
            symptom: "The fleet is halted because more of a wave's users were taken back than the plan allows.",
            meaning: "Differences at `live`, a kill, or people took them back. Each user's evidence says which.",
            command: "\(tool) rollout evidence --root ROOT --user USER",
            check: "The cause is known and gone; what was found is in `\(tool) fleet report --root ROOT`. \(goesOn)."
        ),
        .haltedByDisk: Row(
            symptom: "The fleet is halted because processes waited for the disk too much of the time.",
            meaning:
                "Moving users, or something else on the machine, asks more of the disk than it can give, and users "
                + "notice.",
            command: "\(tool) fleet status --root ROOT",
            check:
                "The first number of `/proc/pressure/io` is below the plan's limit. With fewer users per minute, MiB "
                + "per second or concurrent users in the plan (`\(tool) fleet plan PLAN --root ROOT`) it stays "
                + "there. \(goesOn)."
        ),
        .haltedBySlowWrites: Row(
            symptom: "The fleet is halted because writes of moved users take longer than those of the others.",
            meaning:
                "The new engine, or writing to both, costs more than the plan allows. Users can bear it, but should "
                + "not have to.",
            command: "\(tool) fleet metrics --root ROOT",
            check: "The durations by stage are close to one another again, or the plan allows them. \(goesOn)."
        ),
        .haltedByPerson: Row(
            symptom: "A person halted the fleet; the name is shown with the reason.",
            meaning: "No user is moved until a person resumes the fleet. Ask the one who halted it first.",
            command: resume,
            check: "\(fleet) no longer says halted; `\(tool) fleet run --root ROOT` continues where it stopped."
        ),
    ]
}

extension Runbook {
    /// The kind for an error without a code.
    public static let unnamedError = "error"

    private static let doctor = "\(tool) rollout doctor --root ROOT --user USER"
    private static let isSound = "`\(doctor)` finds nothing, and \(status) shows a stage."

    /// One row for each code of errors that make users wait.
    static let errors: KeyValuePairs<HabitStoreError.Code, Row> = [
        .notFound: Row(
            symptom: "A file that belongs to the user is missing.",
            meaning: "A store was removed or moved away, or this is a different root. The doctor says which file.",
            command: doctor,
            check: isSound
        ),
        .notAStore: Row(
            symptom: "Something else is where a store should be.",
            meaning: "Another program wrote there, or a folder or a text file was put there.",
            command: doctor,
            check: isSound
        ),
        .newerVersion: Row(
            symptom: "A store was written by a newer version of the program.",
            meaning: "This machine runs an older version, which changes nothing in the store. Update it.",
            command: "\(tool) --version",
            check: "The version is that of the other machines, and \(status) shows a stage."
        ),
        .schemaMismatch: Row(
            symptom: "A store has entities or attributes that this program does not declare, or declares differently.",
            meaning:
                "An app with another schema uses the same root, or the migration plan lacks a version of the schema.",
            command: "\(tool) info STORE",
            check: "The command shows the schema's version; with a program that knows it, \(status) shows a stage."
        ),
        .migrationRequired: Row(
            symptom: "A store has an older version of the schema.",
            meaning:
                "It must be migrated before the user is moved. Opening the user does that; a dry run shows beforehand "
                + "what changes.",
            command: "\(tool) migrate --root ROOT --user USER --dry-run",
            check: "After `\(tool) migrate --root ROOT --user USER`, \(status) shows a stage."
        ),
        .corrupt: Row(
            symptom: "One of the user's files is damaged.",
            meaning:
                "The doctor sets a store that does not serve aside, and it is copied again. If it is the serving "
                + "store, put back its newest backup; what neither the other store nor the backup has is lost.",
            command: "\(doctor) --fix",
            check: isSound
        ),
        .permissionDenied: Row(
            symptom: "The system refuses access to one of the user's files.",
            meaning:
                "Only their owner may use the files. The command runs as a different account from the app, or the disk "
                + "is mounted read-only.",
            command: doctor,
            check: isSound
        ),
        .full: Row(
            symptom: "No space is left.",
            meaning:
                "The disk or the quota is full. During a rollout a user has two stores, and a verification needs room "
                + "for copies. Everything acknowledged is on the disk.",
            command: "\(tool) fleet pause --root ROOT --because TEXT",
            check:
                "After you make space, `\(tool) fleet resume --root ROOT --because TEXT` lets the fleet continue, and "
                + "\(status) shows no error."
        ),
        .inputOutput: Row(
            symptom: "Reading or writing a file failed.",
            meaning:
                "The disk, the network file system or the server has a fault; the message contains the system's error.",
            command: doctor,
            check: isSound
        ),
        .busy: Row(
            symptom: "Another process held a lock for longer than the stated wait.",
            meaning:
                "A long write or copy is running, or a suspended process holds the lock. End a frozen process: waiting "
                + "does not release its lock.",
            command: advance,
            check: "\(status) shows the next stage, or another reason."
        ),
        .outcomeUnknown: Row(
            symptom: "It is unknown whether a write or a move has happened.",
            meaning:
                "A commit failed after its data may have reached the disk. The next opening of the user resolves it.",
            command: advance,
            check: "\(status) shows a stage and no move in progress."
        ),
        .invalidValue: Row(
            symptom: "The user's id, or a value in one of the user's files, cannot be used.",
            meaning: "An id is empty or too long, or a file in the user's folder was edited by hand.",
            command: doctor,
            check: isSound
        ),
        .notAuthoritative: Row(
            symptom: "A store does not serve the user, or the user belongs to another machine.",
            meaning:
                "Another process has moved the user in the meantime; the next attempt sees that. If the message names "
                + "a machine, only that machine moves the user.",
            command: advance,
            check: "\(status) shows the stage without an error, on the machine that has the user."
        ),
        .fileMoved: Row(
            symptom: "A file was moved, replaced or removed while it was open.",
            meaning:
                "A backup was put back, or the folder was moved, under a running program. Nothing was written to the "
                + "moved or replaced file.",
            command: doctor,
            check: isSound
        ),
        .staleStore: Row(
            symptom: "A store is older than what was acknowledged, or belongs to another user.",
            meaning:
                "It was put back from a backup, swapped or moved. Put the current file back. Accept this one only if "
                + "there is nothing newer: what was written since then is given up.",
            command: "\(tool) rollout accept --root ROOT --user USER --engine ENGINE --because TEXT",
            check: "\(status) shows a stage and no error."
        ),
        .engineUnavailable: Row(
            symptom: "The engine's library refuses a sound file.",
            meaning:
                "Another version of the library is installed, most likely liblmdb 1.0 instead of 0.9. Reading still "
                + "works; install the right one to continue.",
            command: "\(tool) info STORE",
            check: "\(status) shows a stage and no error."
        ),
        .unreadableValue: Row(
            symptom: "A store has a value that this version of the program cannot read.",
            meaning:
                "A newer version wrote it, such as a new case of an enumeration. The store is sound; update this "
                + "machine.",
            command: "\(tool) --version",
            check: "The version is that of the other machines, and \(status) shows a stage."
        ),
        .historyExpired: Row(
            symptom: "The history does not reach back as far as the other store needs.",
            meaning:
                "The other store was away for long, or was put back, and the history was pruned in the meantime. That "
                + "store must be copied again.",
            command: "\(doctor) --fix",
            check: isSound
        ),
        .limitExceeded: Row(
            symptom: "A stated limit was exceeded.",
            meaning: "The message names the limit: open users, the size of a record, a list or a file.",
            command: doctor,
            check: isSound
        ),
        .unsupported: Row(
            symptom: "Something cannot be done with this user or these stores.",
            meaning:
                "The message says what: the folder is another user's, a flag file names an engine that the program "
                + "lacks, or a step is not allowed at this stage.",
            command: doctor,
            check: isSound
        ),
        .internalInconsistency: Row(
            symptom: "An assumption of the program's own code does not hold.",
            meaning: "This is a bug. Halt the fleet, leave the user's folder unchanged, and report the message.",
            command: "\(tool) fleet halt --root ROOT --because TEXT",
            check: "`\(tool) fleet status --root ROOT` says halted."
        ),
        HabitStoreError.Code(rawValue: unnamedError): Row(
            symptom: "A user could not be moved or examined, and the error has no code.",
            meaning: "The message comes from the system or from one of the app's engines.",
            command: doctor,
            check: isSound
        ),
    ]
}
