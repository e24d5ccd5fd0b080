import ArgumentParser
import Foundation
import HabitStoreRollout

/// Follows a user by streams of every kind while two processes write, and the user is moved, killed, closed and reopened.
struct LiveRolloutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-rollout",
        abstract: "Follow users with live queries while other processes write and the users are moved and killed.",
        discussion: """
            The streams must deliver the history once and in order, whichever engine serves, and each answer must equal a fetch at \
            its token. The seed reproduces the streams, the processes and the steps, but not the results, since the processes race.
            """
    )

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many users to follow, one after the other.")
    var rounds = 20

    @Option(help: "How many steps for each user.")
    var steps = 40

    /// After how many seconds an operation counts as hanging.
    private static let hangingSeconds = 120.0

    func validate() throws {
        guard rounds > 0, steps >= 0 else { throw ValidationError("--rounds must be 1 or more, and --steps 0 or more") }
    }

    func run() throws {
        let seed = options.sweep.printedSeed()
        fflush(nil)
        // A process may die while the run writes to it.
        signal(SIGPIPE, SIG_IGN)
        let folder = try options.sweep.makeFolder("live")
        let monitor = HangMonitor(processorSeconds: Self.hangingSeconds, seconds: Self.hangingSeconds)
        try options.run(in: folder, LiveRolloutFigures(), expects: [], until: { $0.rounds >= rounds }) {
            number,
            place,
            figures in
            let scenario = LiveRolloutScenario(seed: seed, number: number, steps: steps)
            if options.verbose { print(scenario) }
            var run = try LiveRolloutRun(scenario, in: place, monitor)
            try run.run()
            figures.add(run)
            for violation in run.violations { print("VIOLATION \(scenario): \(violation)") }
            return run.violations.isEmpty
        }
    }
}
