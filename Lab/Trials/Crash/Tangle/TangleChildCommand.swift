import ArgumentParser
import CSystemFaults
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// A process of the tangle sweep: it writes and performs its duties until its standard input ends or another process kills it.
struct TangleChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tangle-child",
        abstract: "Use a user's stores together with other processes; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The root of the users' stores.")
    var root: String

    @Option(help: "The flag file, which this process writes.")
    var flags: String

    @Option(help: "The engine that the flag file calls the old one.")
    var old: EngineName

    @Option(help: "The lane of the writes.")
    var lane: Int

    @Option(help: "The seed of the duties and troubles.")
    var seed: UInt64

    @Option(help: "The pause after each write, in milliseconds.")
    var rest = 0

    @Flag(help: "Do not write.")
    var silent = false

    @Option(parsing: .upToNextOption, help: "Duties in addition to writing.")
    var duty: [TangleDuty] = []

    @Option(parsing: .upToNextOption, help: "Troubles that this process causes itself now and then.")
    var trouble: [TangleTrouble] = []

    @Flag(help: "Keep the first trouble until the end.")
    var lasting = false

    /// The time limit for a child to end after its standard input has ended.
    private static let endingSeconds = 60.0

    mutating func run() throws {
        system_faults_tell_deaths()
        let progress = TangleProgress()
        let flags = StageFlags(path: flags, old: old)
        try flags.want(.init())
        let group = DispatchGroup()
        let worker = TangleWorker(root: root, flags: flags, progress: progress, duties: duty)
        let (seed, first, silent) = (seed, lane * TangleWorkload.laneWidth + 1, silent)
        let troublemaker = TangleTroublemaker(trouble, isLasting: lasting)
        let writer = TangleWriter(
            progress: progress,
            isTroubled: lasting && !trouble.isEmpty,
            restMilliseconds: rest
        )
        Self.detach(in: group) { worker.work(SeededGenerator(seed: seed)) }
        if !silent { Self.detach(in: group) { writer.write(from: first) } }
        if duty.contains(.reading) { Self.detach(in: group) { writer.read() } }
        Thread.detachNewThread { troublemaker.work(SeededGenerator(seed: seed)) }
        while let line = readLine() {
            switch line {
            case "pause": Report.Line.done.tell(progress.pause(seconds: 5) ? "paused" : "unpaused")
            case "resume": progress.resume()
            default: break
            }
        }
        troublemaker.end()
        progress.resume()
        progress.end()
        guard group.wait(timeout: .now() + Self.endingSeconds) == .success else {
            Report.Line.violation.tell("the process did not end within \(Self.endingSeconds) s")
            throw ExitCode.failure
        }
        progress.exchange(nil)?.store.close()
    }

    private static func detach(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        Thread.detachNewThread {
            body()
            group.leave()
        }
    }
}
