import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Following a user while others write and move the user. The seed and the number determine it, but not its result, since the processes
/// race.
struct LiveRolloutScenario: CustomStringConvertible {
    /// A process that writes.
    struct Writer: CustomStringConvertible {
        let restMilliseconds: Int
        let duties: [TangleDuty]
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
    private static let duties: [[TangleDuty]] = [
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
