import HabitStore

extension Runbook {
    /// The kind for an error without a code.
    public static let unnamedError = "error"

    /// The entries for the codes of errors that make users wait.
    static let errors: [RunbookEntry] = [
        .notFound, .notAStore, .newerVersion, .schemaMismatch, .migrationRequired, .corrupt, .permissionDenied, .full,
        .inputOutput,
        .busy, .outcomeUnknown, .invalidValue, .notAuthoritative, .fileMoved, .staleStore, .engineUnavailable,
        .unreadableValue,
        .historyExpired, .limitExceeded, .unsupported, .internalInconsistency, .unnamed,
    ]
}

extension RunbookEntry {
    private static let doctor = "\(OperatorCommand.name) rollout doctor --root ROOT --user USER"
    private static let isSound = "`\(doctor)` finds nothing, and \(status) shows a stage."

    private init(_ code: HabitStoreError.Code, symptom: String, meaning: String, command: String, check: String) {
        self.init(kind: code.rawValue, symptom: symptom, meaning: meaning, command: command, check: check)
    }
}

// MARK: Files and schemas

extension RunbookEntry {
    fileprivate static let notFound = Self(
        .notFound,
        symptom: "A file that belongs to the user is missing.",
        meaning: "A store was removed or moved away, or this is a different root. The doctor says which file.",
        command: doctor,
        check: isSound
    )

    fileprivate static let notAStore = Self(
        .notAStore,
        symptom: "Something else is where a store should be.",
        meaning: "Another program wrote there, or a folder or a text file was put there.",
        command: doctor,
        check: isSound
    )

    fileprivate static let newerVersion = Self(
        .newerVersion,
        symptom: "A store was written by a newer version of the program.",
        meaning: "This machine runs an older version, which changes nothing in the store. Update it.",
        command: "\(OperatorCommand.name) --version",
        check: "The version is that of the other machines, and \(status) shows a stage."
    )

    fileprivate static let schemaMismatch = Self(
        .schemaMismatch,
        symptom: "A store has entities or attributes that this program does not declare, or declares differently.",
        meaning: "An app with another schema uses the same root, or the migration plan lacks a version of the schema.",
        command: "\(OperatorCommand.name) info STORE",
        check: "The command shows the schema's version; with a program that knows it, \(status) shows a stage."
    )

    fileprivate static let migrationRequired = Self(
        .migrationRequired,
        symptom: "A store has an older version of the schema.",
        meaning:
            "It must be migrated before the user is moved. Opening the user does that; a dry run shows beforehand what "
            + "changes.",
        command: "\(OperatorCommand.name) migrate --root ROOT --user USER --dry-run",
        check: "After `\(OperatorCommand.name) migrate --root ROOT --user USER`, \(status) shows a stage."
    )

    fileprivate static let corrupt = Self(
        .corrupt,
        symptom: "One of the user's files is damaged.",
        meaning:
            "The doctor sets a store that does not serve aside, and it is copied again. If it is the serving store, put "
            + "back its newest backup; what neither the other store nor the backup has is lost.",
        command: "\(doctor) --fix",
        check: isSound
    )

    fileprivate static let unreadableValue = Self(
        .unreadableValue,
        symptom: "A store has a value that this version of the program cannot read.",
        meaning:
            "A newer version wrote it, such as a new case of an enumeration. The store is sound; update this machine.",
        command: "\(OperatorCommand.name) --version",
        check: "The version is that of the other machines, and \(status) shows a stage."
    )
}

// MARK: The machine

extension RunbookEntry {
    fileprivate static let permissionDenied = Self(
        .permissionDenied,
        symptom: "The system refuses access to one of the user's files.",
        meaning:
            "Only their owner may use the files. The command runs as a different account from the app, or the disk is "
            + "mounted read-only.",
        command: doctor,
        check: isSound
    )

    fileprivate static let full = Self(
        .full,
        symptom: "No space is left.",
        meaning:
            "The disk or the quota is full. During a rollout a user has two stores, and a verification needs room for "
            + "copies. Everything acknowledged is on the disk.",
        command: "\(OperatorCommand.name) fleet pause --root ROOT --because TEXT",
        check:
            "After you make space, `\(OperatorCommand.name) fleet resume --root ROOT --because TEXT` lets the fleet "
            + "continue, and \(status) shows no error."
    )

    fileprivate static let inputOutput = Self(
        .inputOutput,
        symptom: "Reading or writing a file failed.",
        meaning:
            "The disk, the network file system or the server has a fault; the message contains the system's error.",
        command: doctor,
        check: isSound
    )

    fileprivate static let busy = Self(
        .busy,
        symptom: "Another process held a lock for longer than the stated wait.",
        meaning:
            "A long write or copy is running, or a suspended process holds the lock. End a frozen process: waiting "
            + "does not release its lock.",
        command: advance,
        check: "\(status) shows the next stage, or another reason."
    )

    fileprivate static let engineUnavailable = Self(
        .engineUnavailable,
        symptom: "The engine's library refuses a sound file.",
        meaning:
            "Another version of the library is installed, most likely liblmdb 1.0 instead of 0.9. Reading still works; "
            + "install the right one to continue.",
        command: "\(OperatorCommand.name) info STORE",
        check: "\(status) shows a stage and no error."
    )

    fileprivate static let limitExceeded = Self(
        .limitExceeded,
        symptom: "A stated limit was exceeded.",
        meaning: "The message names the limit: open users, the size of a record, a list or a file.",
        command: doctor,
        check: isSound
    )
}

// MARK: Moves

extension RunbookEntry {
    fileprivate static let outcomeUnknown = Self(
        .outcomeUnknown,
        symptom: "It is unknown whether a write or a move has happened.",
        meaning: "A commit failed after its data may have reached the disk. The next opening of the user resolves it.",
        command: advance,
        check: "\(status) shows a stage and no move in progress."
    )

    fileprivate static let invalidValue = Self(
        .invalidValue,
        symptom: "The user's id, or a value in one of the user's files, cannot be used.",
        meaning: "An id is empty or too long, or a file in the user's folder was edited by hand.",
        command: doctor,
        check: isSound
    )

    fileprivate static let notAuthoritative = Self(
        .notAuthoritative,
        symptom: "A store does not serve the user, or the user belongs to another machine.",
        meaning:
            "Another process has moved the user in the meantime; the next attempt sees that. If the message names a "
            + "machine, only that machine moves the user.",
        command: advance,
        check: "\(status) shows the stage without an error, on the machine that has the user."
    )

    fileprivate static let fileMoved = Self(
        .fileMoved,
        symptom: "A file was moved, replaced or removed while it was open.",
        meaning:
            "A backup was put back, or the folder was moved, under a running program. Nothing was written to the moved "
            + "or replaced file.",
        command: doctor,
        check: isSound
    )

    fileprivate static let staleStore = Self(
        .staleStore,
        symptom: "A store is older than what was acknowledged, or belongs to another user.",
        meaning:
            "It was put back from a backup, swapped or moved. Put the current file back. Accept this one only if there "
            + "is nothing newer: what was written since then is given up.",
        command: "\(OperatorCommand.name) rollout accept --root ROOT --user USER --engine ENGINE --because TEXT",
        check: "\(status) shows a stage and no error."
    )

    fileprivate static let historyExpired = Self(
        .historyExpired,
        symptom: "The history does not reach back as far as the other store needs.",
        meaning:
            "The other store was away for long, or was put back, and the history was pruned in the meantime. That "
            + "store must be copied again.",
        command: "\(doctor) --fix",
        check: isSound
    )

    fileprivate static let unsupported = Self(
        .unsupported,
        symptom: "Something cannot be done with this user or these stores.",
        meaning:
            "The message says what: the folder is another user's, a flag file names an engine that the program lacks, "
            + "or a step is not allowed at this stage.",
        command: doctor,
        check: isSound
    )

    fileprivate static let internalInconsistency = Self(
        .internalInconsistency,
        symptom: "An assumption of the program's own code does not hold.",
        meaning: "This is a bug. Halt the fleet, leave the user's folder unchanged, and report the message.",
        command: "\(OperatorCommand.name) fleet halt --root ROOT --because TEXT",
        check: "`\(OperatorCommand.name) fleet status --root ROOT` says halted."
    )

    fileprivate static let unnamed = Self(
        kind: Runbook.unnamedError,
        symptom: "A user could not be moved or examined, and the error has no code.",
        meaning: "The message comes from the system or from one of the app's engines.",
        command: doctor,
        check: isSound
    )
}
