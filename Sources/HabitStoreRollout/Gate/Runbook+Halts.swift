import HabitStore

extension Runbook {
    static func entry(of halt: Halt) -> RunbookEntry {
        switch halt {
        case .haltedByDifference: .haltedByDifference
        case .haltedByErrors: .haltedByErrors
        case .haltedWithoutConclusion: .haltedWithoutConclusion
        case .haltedByDemotions: .haltedByDemotions
        case .haltedByDisk: .haltedByDisk
        case .haltedBySlowWrites: .haltedBySlowWrites
        case .haltedByPerson: .haltedByPerson
        }
    }
}

extension RunbookEntry {
    private static let fleet = "`\(OperatorCommand.name) fleet status --root ROOT`"
    private static let resume = "\(OperatorCommand.name) fleet resume --root ROOT --because TEXT"
    private static let goesOn =
        "After `\(resume)` and `\(OperatorCommand.name) fleet run --root ROOT`, \(fleet) shows it running"

    fileprivate static let haltedByDifference = Self(
        .haltedByDifference,
        symptom: "The fleet is halted for a user whose stores differ; \(fleet) lists all whose do.",
        meaning:
            "A shadow read or a verification has found a new difference, or one that no complete verification has "
            + "refuted since. Nobody is moved until a person has looked at it: if it is a fault of the program, others have it too. A resume "
            + "refutes nothing.",
        command: verify,
        check:
            "The command ends with exit code 0 for each of the users once the difference is resolved (see `verificationNotClean`), and \(fleet) "
            + "lists nobody. \(goesOn)."
    )

    fileprivate static let haltedByErrors = Self(
        .haltedByErrors,
        symptom: "The fleet is halted after errors in a row, of whichever users; the last one is shown.",
        meaning:
            "What all users need is missing: space, permissions, a server, a library, memory. The entry of the error's code says more.",
        command: "\(OperatorCommand.name) rollout doctor --root ROOT --all",
        check: "The doctor finds nothing that keeps stores from being read. \(goesOn)."
    )

    fileprivate static let haltedWithoutConclusion = Self(
        .haltedWithoutConclusion,
        symptom: "The fleet is halted since verifications of one user came to no conclusion.",
        meaning: "The user's stores are written to without a moment's rest, or a comparison takes longer than it may.",
        command: verify,
        check: "The command ends with exit code 0, at a quieter time. \(goesOn)."
    )

    fileprivate static let haltedByDemotions = Self(
        .haltedByDemotions,
        symptom: "The fleet is halted since more of a wave's users were taken back than the plan allows.",
        meaning: "Differences at `live`, a kill, or people took them back. Each user's evidence says which.",
        command: "\(OperatorCommand.name) rollout evidence --root ROOT --user USER",
        check:
            "The cause is known and gone; what was found is in `\(OperatorCommand.name) fleet report --root ROOT`. \(goesOn)."
    )

    fileprivate static let haltedByDisk = Self(
        .haltedByDisk,
        symptom: "The fleet is halted since something waited for the disk in too large a share of the time.",
        meaning:
            "Moving users, or something else on the machine, asks more of the disk than it can give, and users feel it.",
        command: "\(OperatorCommand.name) fleet status --root ROOT",
        check:
            "The first number of `/proc/pressure/io` is below the plan's bar. With fewer users a minute, MiB a second or at once in the "
            + "plan (`\(OperatorCommand.name) fleet plan PLAN --root ROOT`) it stays there. \(goesOn)."
    )

    fileprivate static let haltedBySlowWrites = Self(
        .haltedBySlowWrites,
        symptom: "The fleet is halted since the writes of users who were moved take longer than those of the others.",
        meaning:
            "The new engine, or writing to both, costs more than the plan allows. Users can take it; they should not have to.",
        command: "\(OperatorCommand.name) fleet metrics --root ROOT",
        check: "The durations by stage are near to one another again, or the plan allows what they are. \(goesOn)."
    )

    fileprivate static let haltedByPerson = Self(
        .haltedByPerson,
        symptom: "The fleet is halted by a person, who is named with the reason.",
        meaning: "Nobody is moved until somebody lets it go on. Ask that person first.",
        command: resume,
        check:
            "\(fleet) does not say halted any more; `\(OperatorCommand.name) fleet run --root ROOT` goes on where it was."
    )
}
