import ArgumentParser
import CSystemFaults
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines
import Synchronization

/// Opens the user and performs a process's duties in a seeded order.
struct ConcurrentWorker: Sendable {
    let root: String
    let flags: StageFlags
    let progress: ConcurrentProgress
    let duties: [ConcurrentDuty]

    /// The pause between two duties.
    private static let restSeconds = 0.0...0.03

    func work(_ seeded: SeededGenerator) {
        var generator = seeded
        let duties = duties.filter { $0 != .reading }
        while !progress.isEnded {
            let duty = duties.randomElement(using: &generator)
            let (roll, rest) = (generator.next(), Double.random(in: Self.restSeconds, using: &generator))
            progress.doing {
                do {
                    try work(duty, roll)
                } catch {
                    Report.Line.notMoved.tell("\(duty?.rawValue ?? "opening"): \(Report.text(error))")
                }
            }
            Thread.sleep(forTimeInterval: rest)
        }
    }

    private func work(_ duty: ConcurrentDuty?, _ roll: UInt64) throws {
        if duty == .toggling { return try toggle(roll) }
        guard let user = progress.present else { return try open() }
        switch duty {
        case nil, .reading, .toggling: Thread.sleep(forTimeInterval: 0.05)
        case .moving: try move(user, roll)
        case .killing: try kill(user, isForAll: false)
        case .killingAll: try kill(user, isForAll: true)
        case .rearming: try rearm(user)
        case .pruning:
            let token = try user.store.currentToken()
            try user.store.pruneHistory(through: HistoryToken(rawValue: token.rawValue - Int64(roll % 8)))
            Report.Line.done.tell("pruned")
        case .verifying:
            let report = try user.store.verify()
            Report.Line.done.tell("verified: \(report.verdict.rawValue)")
            let stage = try user.store.stage()
            // If no mirror follows at this stage, another store may be an old one; at token 0 it was only just created.
            guard report.verdict == .mismatch, stage.mirror != nil, report.b.information.token > .zero else { break }
            let tokens = "\(report.a.information.token) and \(report.b.information.token)"
            Report.Line.mismatch.tell("\(stage) \(tokens): \(report.differences.first?.message ?? "")")
        case .filing: try file(user, roll)
        case .mending: try mend(roll)
        case .promoting: try promote(user)
        case .shiftingClock: if let what = ConcurrentClock.shift(roll) { Report.Line.done.tell(what) }
        }
    }

    private func open() throws {
        _ = progress.exchange(try SweptUser(root: root, flags: flags, options: .concurrent))
        Report.Line.done.tell("opened")
    }

    /// Closes and reopens the user, with or without an engine in the flags.
    private func toggle(_ roll: UInt64) throws {
        progress.exchange(nil)?.store.close()
        let backends: [EngineName?] = [.sqlite, .lmdb, nil]
        let backend = backends[Int(roll % 3)]
        if roll / 3 % 4 > 0 { try flags.want(.init(backend: backend)) }
        try open()
        guard let store = progress.present?.store else { return }
        if store.notes.contains(where: { $0.hasPrefix("switched from") }) { Report.Line.done.tell("toggled") }
        Report.Line.stage.tell(try store.stage().rawValue)
        Thread.sleep(forTimeInterval: Double(roll / 12 % 100) / 1_000)
    }

    private func move(_ user: SweptUser, _ roll: UInt64) throws {
        switch roll % 8 {
        case 0:
            try user.goBack()
            Report.Line.done.tell("demoted")
        case 1:
            try user.goBackByFlags()
            Report.Line.done.tell("went back by flags")
        default: return try promote(user)
        }
        Report.Line.stage.tell(try user.store.stage().rawValue)
    }

    private func promote(_ user: SweptUser) throws {
        if let missing = try user.goForward(tries: 1) {
            return Report.Line.notMoved.tell("forward: \(missing.prefix(60))")
        }
        Report.Line.done.tell("advanced")
        Report.Line.stage.tell(try user.store.stage().rawValue)
    }

    private func kill(_ user: SweptUser, isForAll: Bool) throws {
        let begun = ConcurrentClock.now
        try user.kill(isForAll: isForAll)
        guard try user.store.applyKill() else { return }
        Report.Line.done.tell(isForAll ? "killed all users" : "killed")
        Report.Line.landed.tell("\(begun) \(try user.store.engine().rawValue)")
    }

    private func rearm(_ user: SweptUser) throws {
        Report.Line.rearming.tell("\(ConcurrentClock.now) begun")
        try user.rearm()
        Report.Line.rearming.tell("\(ConcurrentClock.now) ended")
        Report.Line.done.tell("re-armed")
    }

    private func file(_ user: SweptUser, _ roll: UInt64) throws {
        if roll % 6 == 0 {
            Report.Line.done.tell(Report.resetBegun)
            _ = try user.store.resetEvidence(because: "a test", by: "the sweep", isForced: true)
            Report.Line.done.tell(Report.resetEnded)
        } else if try user.store.archiveEvidence() != nil {
            Report.Line.done.tell("evidence archived")
        }
    }

    /// Repairs like the command: with separate stores, after this process's stores are closed.
    private func mend(_ roll: UInt64) throws {
        if roll % 2 == 0 {
            _ = try UserStores(root: root, flags: flags.path, schema: HabitSchema.current, options: .concurrent)
                .examine(
                    SweptUser.name
                )
            return Report.Line.done.tell("examined")
        }
        progress.exchange(nil)?.store.close()
        _ = try UserStores(root: root, flags: flags.path, schema: HabitSchema.current, options: .concurrent).mend(
            SweptUser.name
        )
        Report.Line.done.tell("mended")
    }
}

/// A process of the concurrent sweep: it writes and performs its duties until its standard input ends or another process kills it.
struct ConcurrentChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        // This name and that of `--lane` are those of earlier versions, which a sweep may run as children.
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

    @Option(name: .customLong("lane"), help: "The number of the writer.")
    var writerIndex: Int

    @Option(help: "The seed of the duties and troubles.")
    var seed: UInt64

    @Option(help: "The pause after each write, in milliseconds.")
    var rest = 0

    @Flag(help: "Do not write.")
    var silent = false

    @Option(parsing: .upToNextOption, help: "Duties in addition to writing.")
    var duty: [ConcurrentDuty] = []

    @Option(parsing: .upToNextOption, help: "Troubles that this process causes itself now and then.")
    var trouble: [ConcurrentTrouble] = []

    @Flag(help: "Keep the first trouble until the end.")
    var lasting = false

    /// The time limit for a child to end after its standard input has ended.
    private static let endingSeconds = 60.0

    mutating func run() throws {
        system_faults_tell_deaths()
        let progress = ConcurrentProgress()
        let flags = StageFlags(path: flags, old: old)
        try flags.want(.init())
        let group = DispatchGroup()
        let worker = ConcurrentWorker(root: root, flags: flags, progress: progress, duties: duty)
        let (seed, first, silent) = (seed, writerIndex * ConcurrentWorkload.writerWidth + 1, silent)
        let troublemaker = ConcurrentNemesis(trouble, isLasting: lasting)
        let writer = ConcurrentWriter(
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

/// The shared state of one process's threads: the open store, and when to end.
final class ConcurrentProgress: Sendable {
    private let ended = Atomic<Bool>(false)
    private let paused = Atomic<Bool>(false)
    private let busy = Atomic<Int>(0)
    private let user = Mutex<SweptUser?>(nil)
    /// The last acknowledged write of this process.
    let acknowledged = Atomic<Int>(0)

    var isEnded: Bool { ended.load(ordering: .sequentiallyConsistent) }

    func end() { ended.store(true, ordering: .sequentiallyConsistent) }

    /// Waits until no operation is running; none starts until ``resume()``.
    ///
    /// - Returns: whether that happened in time.
    func pause(seconds: Double) -> Bool {
        paused.store(true, ordering: .sequentiallyConsistent)
        let deadline = ContinuousClock.now + .seconds(seconds)
        while busy.load(ordering: .sequentiallyConsistent) > 0 {
            guard ContinuousClock.now < deadline else { return false }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return true
    }

    func resume() { paused.store(false, ordering: .sequentiallyConsistent) }

    /// Runs an operation, after any pause.
    func doing(_ body: () -> Void) {
        while true {
            busy.add(1, ordering: .sequentiallyConsistent)
            guard paused.load(ordering: .sequentiallyConsistent) else { break }
            busy.subtract(1, ordering: .sequentiallyConsistent)
            Thread.sleep(forTimeInterval: 0.002)
        }
        body()
        busy.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// The open store; nil if there is none.
    var present: SweptUser? { user.withLock { $0 } }

    /// Replaces the open store and returns the old one.
    func exchange(_ other: SweptUser?) -> SweptUser? {
        user.withLock { user in
            defer { user = other }
            return user
        }
    }
}

/// A clock that all processes of the machine share.
enum ConcurrentClock {
    /// Nanoseconds since a moment before any of them started.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The possible shifts of the clock of the day, in days.
    private static let days: [Int64] = [-1, 0, 1]

    /// Shifts this process's clock of the day.
    ///
    /// - Returns: what was done, as text to count; nil if faults are not supported here.
    static func shift(_ roll: UInt64) -> String? {
        guard system_faults_are_supported() else { return nil }
        let days = days[Int(roll % UInt64(days.count))]
        system_faults_shift_clock(days * 86_400)
        return days == 0 ? "clock restored" : "clock a day \(days < 0 ? "back" : "forward")"
    }
}
