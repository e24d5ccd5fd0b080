import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// The reason for stopping or resuming a fleet.
struct FleetWordOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Why, for the ledger.", valueName: "text"))
    var because: String

    func validate() throws {
        guard because.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--because is empty; say why")
        }
    }
}

extension Fleet {
    /// Notifies the plan's hooks of what was just done, and reports the result.
    fileprivate func tellHooksAloud() {
        for line in tellHooksInWords() { StandardError.note(line) }
    }
}

/// `habitstore fleet pause`.
struct FleetPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Starts no new users, and finishes those in progress."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var word: FleetWordOptions

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        let isNew = try fleet.pause(by: NSUserName(), because: word.because)
        try Output.write(isNew ? "paused\n" : "paused already\n")
        if isNew { fleet.tellHooksAloud() }
    }
}

/// `habitstore fleet resume`.
struct FleetResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continues a fleet that was paused or halted.",
        discussion:
            "It does not refute a difference: until a complete verification finds the user's stores equal, the next run halts again for that user at "
            + "the plan's stage, and at other stages the gate refuses the user."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var word: FleetWordOptions

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        let wasStopped = try fleet.resume(by: NSUserName(), because: word.because)
        let next = fleet.isRunning ? "" : "; `\(Tool.name) fleet run` continues where it stopped"
        try Output.write(wasStopped ? "resumed\(next)\n" : "it was neither paused nor halted\n")
        let different = try? fleet.status().different
        if wasStopped, let different, !different.isEmpty {
            StandardError.note(
                "the stores of \(FleetOverview.counted(different.count, "user")) still differ, and halt the fleet again until a complete verification "
                    + "finds them equal; `\(Tool.name) fleet status` lists them"
            )
        }
        if wasStopped { fleet.tellHooksAloud() }
    }
}

/// `habitstore fleet halt`.
struct FleetHaltCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "halt",
        abstract: "Stops all moves immediately.",
        discussion: """
            A run checks for the halt, a file under ROOT/fleet, before each move. Users stay where they are; --back \
            takes those of the present wave back to off. The kill switch (`rollout kill`) is separate: it takes \
            everybody back, and keeps them there.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var word: FleetWordOptions

    @Flag(help: "Take the users of the present wave back, too.")
    var back = false

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let fleet = Fleet(root: settings.root)
        let isNew = try fleet.halt(by: NSUserName(), because: word.because)
        try Output.write(isNew ? "halted\n" : "halted already\n")
        guard back else {
            if isNew { fleet.tellHooksAloud() }
            return
        }
        let taken = try fleet.takeBack(stores)
        for (user, error) in taken.failures {
            let line = "\(user): FAILED: \(ErrorReport.message(of: error))"
            try Output.write(TerminalText.escaped(line) + "\n")
        }
        let failed = taken.failures.count
        try Output.write(
            "\(taken.users.counted("user")) of wave \(taken.wave + 1) \(taken.users == 1 ? "was" : "were") taken back, \(failed) could not be\n"
        )
        fleet.tellHooksAloud()
        if failed > 0 { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
