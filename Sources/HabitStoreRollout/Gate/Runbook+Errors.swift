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
        meaning:
            "A store was removed or moved away, or the root is another one than before. The doctor says which file.",
        command: doctor,
        check: isSound
    )

    fileprivate static let notAStore = Self(
        .notAStore,
        symptom: "What stands in the place of a store is something else.",
        meaning: "Another program has written there, or a folder or a text file was put in its place.",
        command: doctor,
        check: isSound
    )

    fileprivate static let newerVersion = Self(
        .newerVersion,
        symptom: "A store was written by a newer version of the program.",
        meaning: "This machine runs an older one. It changes nothing in the store; update it.",
        command: "\(OperatorCommand.name) --version",
        check: "The version is that of the other machines, and \(status) shows a stage."
    )

    fileprivate static let schemaMismatch = Self(
        .schemaMismatch,
        symptom: "A store has entities or attributes that this program does not declare in this way.",
        meaning:
            "An app with another schema uses the same root, or a version of the schema is not in the migration's plan.",
        command: "\(OperatorCommand.name) info STORE",
        check: "The command shows the schema's version; with a program that knows it, \(status) shows a stage."
    )

    fileprivate static let migrationRequired = Self(
        .migrationRequired,
        symptom: "A store is of an older version of the schema.",
        meaning:
            "It has to be taken to the present one before the user is moved. Opening the user does that; a dry run tells beforehand "
            + "what changes.",
        command: "\(OperatorCommand.name) migrate --root ROOT --user USER --dry-run",
        check: "After `\(OperatorCommand.name) migrate --root ROOT --user USER`, \(status) shows a stage."
    )

    fileprivate static let corrupt = Self(
        .corrupt,
        symptom: "A file of the user's is damaged.",
        meaning:
            "If it is the store that does not serve, the doctor sets it aside and it is copied anew. If it is the one that serves, put "
            + "back its newest backup; what neither has is lost.",
        command: "\(doctor) --fix",
        check: isSound
    )

    fileprivate static let unreadableValue = Self(
        .unreadableValue,
        symptom: "A store holds a value that this version of the program cannot read.",
        meaning:
            "A newer version has written it, such as a new case of an enumeration. The store is sound; update this machine.",
        command: "\(OperatorCommand.name) --version",
        check: "The version is that of the other machines, and \(status) shows a stage."
    )
}

// MARK: The machine

extension RunbookEntry {
    fileprivate static let permissionDenied = Self(
        .permissionDenied,
        symptom: "The system refuses access to a file of the user's.",
        meaning:
            "Files are for their owner only. The command runs as another account than the app, or the disk is mounted read-only.",
        command: doctor,
        check: isSound
    )

    fileprivate static let full = Self(
        .full,
        symptom: "No space is left.",
        meaning:
            "The disk or the quota is full. A user on the way has two stores, and a verification needs room for copies. What was "
            + "acknowledged is on the disk.",
        command: "\(OperatorCommand.name) fleet pause --root ROOT --because TEXT",
        check:
            "With space made, `\(OperatorCommand.name) fleet resume --root ROOT --because TEXT` lets the fleet go on, and \(status) shows no error."
    )

    fileprivate static let inputOutput = Self(
        .inputOutput,
        symptom: "Reading or writing a file failed.",
        meaning:
            "The disk, the network file system or the server has a fault; the message has the system's word for it.",
        command: doctor,
        check: isSound
    )

    fileprivate static let busy = Self(
        .busy,
        symptom: "Another process holds a lock for longer than the stated wait.",
        meaning:
            "A long write, a copy, or a process that is stopped and holds the lock. One that is frozen has to be ended; nobody else's "
            + "waiting ends it.",
        command: advance,
        check: "\(status) shows the next stage, or another reason."
    )

    fileprivate static let engineUnavailable = Self(
        .engineUnavailable,
        symptom: "The engine's library refuses a file that is sound.",
        meaning:
            "Another version of the library is installed, most likely liblmdb 1.0 instead of 0.9. Reading still works; install the "
            + "right one to go on.",
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
        symptom: "Nobody can tell whether a write or a move has happened.",
        meaning: "A commit failed after its data may have reached the disk. The next opening of the user settles it.",
        command: advance,
        check: "\(status) shows a stage and no move that is under way."
    )

    fileprivate static let invalidValue = Self(
        .invalidValue,
        symptom: "The user's id, or a value in a file of the user's, cannot be used.",
        meaning: "An id is empty or too long, or a file beside the stores was edited by hand.",
        command: doctor,
        check: isSound
    )

    fileprivate static let notAuthoritative = Self(
        .notAuthoritative,
        symptom: "A store does not serve the user, or the user belongs to another machine.",
        meaning:
            "Another process has moved the user meanwhile, which the next try sees. Where the message names a machine, only that one "
            + "moves the user.",
        command: advance,
        check: "\(status) shows the stage without an error, on the machine that has the user."
    )

    fileprivate static let fileMoved = Self(
        .fileMoved,
        symptom: "A file was moved, replaced or removed while it was open.",
        meaning:
            "Somebody has put back a backup, or moved the folder, under a running program. Nothing was written to what became of it.",
        command: doctor,
        check: isSound
    )

    fileprivate static let staleStore = Self(
        .staleStore,
        symptom: "A store is older than what was acknowledged, or belongs to somebody else.",
        meaning:
            "It was put back from a backup, swapped or moved. Put the current file back. Only if nothing newer is to be had accept "
            + "this one: what was written since then is given up.",
        command: "\(OperatorCommand.name) rollout adopt --root ROOT --user USER --engine ENGINE --because TEXT",
        check: "\(status) shows a stage and no error."
    )

    fileprivate static let historyExpired = Self(
        .historyExpired,
        symptom: "The history does not reach back as far as the other store needs.",
        meaning: "It was pruned behind a store that was away for long, or put back. That store has to be copied anew.",
        command: "\(doctor) --fix",
        check: isSound
    )

    fileprivate static let unsupported = Self(
        .unsupported,
        symptom: "Something cannot be done with this user or these stores.",
        meaning:
            "The message says what: the folder is another user's, a flag file names an engine that the program does not have, or a step "
            + "is not allowed at this stage.",
        command: doctor,
        check: isSound
    )

    fileprivate static let internalInconsistency = Self(
        .internalInconsistency,
        symptom: "An assumption of the program's own code does not hold.",
        meaning:
            "This is a fault of the program. Halt the fleet, keep the user's folder as it is, and report the message.",
        command: "\(OperatorCommand.name) fleet halt --root ROOT --because TEXT",
        check: "`\(OperatorCommand.name) fleet status --root ROOT` says halted."
    )

    fileprivate static let unnamed = Self(
        kind: Runbook.unnamedError,
        symptom: "A user could not be moved or looked at, by an error that has no code of its own.",
        meaning: "The message comes from the system or from an engine of the app's.",
        command: doctor,
        check: isSound
    )
}
