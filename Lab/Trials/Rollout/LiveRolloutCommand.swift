import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

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

/// The counts of runs that follow users.
struct LiveRolloutFigures: ScenarioFigures {
    private(set) var kills = 0
    private(set) var violations = 0
    private(set) var rounds = 0
    private(set) var places: [String: Int] = [:]
    private var done: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private var writes = 0
    private var closings = 0
    private var told = 0
    private var compared = 0
    private var slowestSeconds = (acknowledged: 0.0, other: 0.0)

    /// Counts a round.
    mutating func add(_ run: LiveRolloutRun) {
        rounds += 1
        done.merge(run.done, uniquingKeysWith: +)
        refusals.merge(run.refusals, uniquingKeysWith: +)
        violations += run.violations.count
        writes += run.writes
        closings += run.closings
        told += run.followers.told
        compared += run.followers.compared
        let slowest = run.followers.slowestSeconds
        slowestSeconds.acknowledged = max(slowestSeconds.acknowledged, slowest.acknowledged)
        slowestSeconds.other = max(slowestSeconds.other, slowest.other)
        kills += run.deaths.values.reduce(0, +)
        places.merge(run.deaths, uniquingKeysWith: +)
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["events:"] + Self.table(done)
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        lines.append(
            "\(rounds) rounds in \(Int(seconds)) s, \(writes) writes, \(told) elements received, \(compared) of them compared "
                + "with a replay of the writes; users closed to make room \(closings) times"
        )
        let (acknowledged, other) = (Int(slowestSeconds.acknowledged * 1_000), Int(slowestSeconds.other * 1_000))
        lines.append(
            "all streams received an acknowledged last write within \(acknowledged) ms, and one whose writer died before it could "
                + "acknowledge it within \(other) ms"
        )
        return lines
    }
}

/// Following a user while others write and move the user. The seed and the number determine it, but not its result, since the processes
/// race.
struct LiveRolloutScenario: CustomStringConvertible {
    /// A process that writes.
    struct Writer: CustomStringConvertible {
        let restMilliseconds: Int
        let duties: [ConcurrentDuty]
        /// Where it dies; nil without a crash point.
        let crashPoint: String?
        let seed: UInt64

        var description: String {
            "\(restMilliseconds) ms" + (duties.isEmpty ? "" : " \(duties.map(\.rawValue).joined(separator: "+"))")
                + (crashPoint.map { " @\($0)" } ?? "")
        }
    }

    let number: Int
    let old: EngineName
    let writers: [Writer]
    /// The steps, each with its delay in milliseconds after the previous one.
    let steps: [(milliseconds: Int, step: LiveRolloutStep)]
    /// The seed of the streams and their queries.
    let streamSeed: UInt64

    /// The number of streams in addition to the history's.
    static let streams = 10

    init(seed: UInt64, number: Int, steps count: Int) {
        self.number = number
        var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        // In turn, so that a short run includes both.
        old = EngineName.standard[number % 2]
        streamSeed = generator.next()
        writers = (0..<2).map { _ in
            Writer(
                restMilliseconds: generator.pick([0, 2, 5, 20]),
                duties: generator.chance(35) ? generator.pick(Self.duties) : [],
                crashPoint: generator.chance(50) ? Self.crashPoint(&generator) : nil,
                seed: generator.next()
            )
        }
        var steps: [(Int, LiveRolloutStep)] = []
        while steps.count < count {
            steps += Self.next(&generator).map { (generator.chance(40) ? 0 : generator.int(1...150), $0) }
        }
        self.steps = steps
    }

    /// A writer's other duties. None of them kills all users: a process that opens the user meanwhile would believe in the kill forever.
    private static let duties: [[ConcurrentDuty]] = [
        [.moving], [.promoting, .reading], [.moving, .killing, .rearming], [.toggling, .moving],
        [.verifying, .promoting],
        [.filing, .mending, .moving],
    ]

    /// Only debug builds have crash points.
    private static func crashPoint(_ generator: inout SeededGenerator) -> String? {
        CrashPoint.all.randomElement(using: &generator).map { name in
            "\(name):\(Scenario.isOften(name) ? generator.int(1...60) : 1)"
        }
    }

    private static func next(_ generator: inout SeededGenerator) -> [LiveRolloutStep] {
        switch generator.int(0..<100) {
        case 0..<36: [.forward]
        case 36..<42: [.back(stages: generator.chance(70) ? 1 : generator.int(2...5))]
        case 42..<50: kill(isForAll: generator.chance(50), &generator)
        case 50..<59: [.killWriter(generator.int(0...1))]
        case 59: [.killAllWriters]
        case 60..<63: [.freezeWriter(generator.int(0...1), milliseconds: generator.int(20...400))]
        case 63..<70: [.reopen(generator.chance(60) ? nil : generator.pick(EngineName.standard))]
        default: [harmless(&generator)]
        }
    }

    /// A kill, and the way forward again soon after it. A writer that starts in between would believe forever that all users are killed: it does not
    /// check
    /// the sentinel file again.
    private static func kill(isForAll: Bool, _ generator: inout SeededGenerator) -> [LiveRolloutStep] {
        [.kill(isForAll: isForAll)] + (0..<generator.int(0...2)).map { _ in harmless(&generator) } + [.rearm]
    }

    private static func harmless(_ generator: inout SeededGenerator) -> LiveRolloutStep {
        switch generator.int(0..<11) {
        case 10: .prune(keep: generator.int(0...60))
        case 0..<4: .crowd(users: generator.int(2...4))
        case 4..<6: .write(count: generator.int(1...5))
        case 6: .feed(percent: generator.int(0...100))
        case 7..<9: .exchange(generator.int(0...streams - 1))
        default: .quiet
        }
    }

    var description: String {
        "round \(number): from \(old.rawValue), writers [\(writers.map(\.description).joined(separator: ", "))]; "
            + steps.map { "\($0.milliseconds) ms \($0.step)" }.joined(separator: ", ")
    }
}

extension SeededGenerator {
    fileprivate mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
}

/// A step that the following process takes on the followed user.
enum LiveRolloutStep: CustomStringConvertible {
    /// One stage forward through the gate.
    case forward
    /// Back by this many stages.
    case back(stages: Int)
    case kill(isForAll: Bool)
    case rearm
    /// Uses other users, so that the followed user's files are closed for them.
    case crowd(users: Int)
    case write(count: Int)
    /// Kills a writer with SIGKILL, and starts another one.
    case killWriter(Int)
    /// Kills all writers, waits until every stream has received what they left, and starts others.
    case killAllWriters
    /// Prunes the received history, except for its last transactions.
    case prune(keep: Int)
    /// Stops a writer for this long.
    case freezeWriter(Int, milliseconds: Int)
    /// Closes and reopens the user, with or without an engine in the flags.
    case reopen(EngineName?)
    /// Ends the stream at a place, and starts another one there.
    case exchange(Int)
    /// Follows the history again, after a percentage of what was received.
    case feed(percent: Int)
    /// Pauses the writers, and waits until every stream has received the current state.
    case quiet

    var description: String {
        switch self {
        case .forward: "forward"
        case .back(let stages): "back \(stages)"
        case .kill(let isForAll): isForAll ? "kill all users" : "kill"
        case .rearm: "re-arm"
        case .crowd(let users): "\(users) other users"
        case .write(let count): "write \(count)"
        case .killWriter(let writer): "kill writer \(writer)"
        case .killAllWriters: "kill all writers"
        case .prune(let keep): "prune all but \(keep)"
        case .freezeWriter(let writer, let milliseconds): "freeze writer \(writer) for \(milliseconds) ms"
        case .reopen(let engine): "reopen" + (engine.map { " wanting \($0.rawValue)" } ?? "")
        case .exchange(let place): "exchange stream \(place)"
        case .feed(let percent): "follow the history after \(percent) %"
        case .quiet: "quiet"
        }
    }

    /// The name under which it is counted.
    var kind: String {
        switch self {
        case .back: "back"
        case .crowd: "other users"
        case .write: "write"
        case .killWriter: "kill a writer"
        case .freezeWriter: "freeze a writer"
        case .prune: "prune"
        case .reopen: "reopen"
        case .exchange: "exchange a stream"
        case .feed: "follow the history again"
        default: description
        }
    }
}
