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
        symptom: "The fleet is halted because a user's stores differ; \(fleet) lists all such users.",
        meaning:
            "A shadow read or a verification found a new difference, or one that no complete verification has refuted "
            + "since. No user is moved until a person has looked at it: if it is a bug, other users have it too. "
            + "Resuming refutes nothing.",
        command: verify,
        check:
            "The command ends with exit code 0 for each of the users once the difference is resolved (see "
            + "`verificationNotClean`), and \(fleet) lists none. \(goesOn)."
    )

    fileprivate static let haltedByErrors = Self(
        .haltedByErrors,
        symptom: "The fleet is halted after several errors in a row, of any users; the last one is shown.",
        meaning:
            "Something that all users need is missing: space, permissions, a server, a library, memory. The entry for "
            + "the error's code says more.",
        command: "\(OperatorCommand.name) rollout doctor --root ROOT --all",
        check: "The doctor finds nothing that keeps stores from being read. \(goesOn)."
    )

    fileprivate static let haltedWithoutConclusion = Self(
        .haltedWithoutConclusion,
        symptom: "The fleet is halted because verifications of one user were inconclusive.",
        meaning: "The user's stores are written to without a pause, or a comparison takes longer than its limit.",
        command: verify,
        check: "The command ends with exit code 0 at a quieter time. \(goesOn)."
    )

    fileprivate static let haltedByDemotions = Self(
        .haltedByDemotions,
        symptom: "The fleet is halted because more of a wave's users were taken back than the plan allows.",
        meaning: "Differences at `live`, a kill, or people took them back. Each user's evidence says which.",
        command: "\(OperatorCommand.name) rollout evidence --root ROOT --user USER",
        check:
            "The cause is known and gone; what was found is in `\(OperatorCommand.name) fleet report --root ROOT`. \(goesOn)."
    )

    fileprivate static let haltedByDisk = Self(
        .haltedByDisk,
        symptom: "The fleet is halted because processes waited for the disk too much of the time.",
        meaning:
            "Moving users, or something else on the machine, asks more of the disk than it can give, and users notice.",
        command: "\(OperatorCommand.name) fleet status --root ROOT",
        check:
            "The first number of `/proc/pressure/io` is below the plan's limit. With fewer users per minute, MiB per "
            + "second or concurrent users in the plan (`\(OperatorCommand.name) fleet plan PLAN --root ROOT`) it stays "
            + "there. \(goesOn)."
    )

    fileprivate static let haltedBySlowWrites = Self(
        .haltedBySlowWrites,
        symptom: "The fleet is halted because writes of moved users take longer than those of the others.",
        meaning:
            "The new engine, or writing to both, costs more than the plan allows. Users can bear it, but should not "
            + "have to.",
        command: "\(OperatorCommand.name) fleet metrics --root ROOT",
        check: "The durations by stage are close to one another again, or the plan allows them. \(goesOn)."
    )

    fileprivate static let haltedByPerson = Self(
        .haltedByPerson,
        symptom: "A person halted the fleet; the name is shown with the reason.",
        meaning: "No user is moved until a person resumes the fleet. Ask the one who halted it first.",
        command: resume,
        check:
            "\(fleet) no longer says halted; `\(OperatorCommand.name) fleet run --root ROOT` continues where it "
            + "stopped."
    )
}
