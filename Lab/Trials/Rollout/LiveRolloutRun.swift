import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// Follows a user through a scenario, and checks everything received.
struct LiveRolloutRun {
    private let scenario: LiveRolloutScenario
    private let root: String
    private let folder: URL
    private let monitor: HangMonitor
    private let flags: StageFlags
    private var user: SweptUser
    /// Other users of this process.
    private var guests: [UserStore] = []
    private var writers: LiveWriters
    private(set) var followers: LiveFollowers
    /// The writes of this process.
    private var own = Report()
    private var ownNumber = (ConcurrentWorkload.lanes - 1) * ConcurrentWorkload.writerWidth

    private(set) var done: [String: Int] = [:]
    private(set) var refusals: [String: Int] = [:]
    private var faults: [String] = []
    /// The number of writes at the end.
    private(set) var writes = 0
    /// How often users were closed to make room for others.
    private(set) var closings = 0
    var deaths: [String: Int] { writers.deaths }
    var violations: [String] { faults + followers.violations }

    /// How long opening a user is retried while a writer prevents it.
    private static let openingSeconds = 40.0
    /// How many users' files may be open in this process.
    private static let openUsers = 2
    private static let triesForward = 3

    /// Errors that must never occur with intact stores.
    private static let never: Set<HabitStoreError.Code> = [
        .corrupt, .notAStore, .staleStore, .fileMoved, .internalInconsistency,
    ]

    private static var options: RolloutOptions {
        var options = RolloutOptions.concurrent
        options.maximumOpenUsers = openUsers
        return options
    }

    init(_ scenario: LiveRolloutScenario, in folder: URL, _ monitor: HangMonitor) throws {
        (self.scenario, self.monitor, self.folder) = (scenario, monitor, folder)
        root = folder.appendingPathComponent("root").path
        flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, old: scenario.old)
        try flags.want(.init())
        user = try SweptUser(root: root, flags: flags, options: Self.options)
        writers = LiveWriters(scenario, root: root, in: folder)
        followers = try LiveFollowers(seed: scenario.streamSeed, streams: LiveRolloutScenario.streams)
    }

    mutating func run() throws {
        defer {
            writers.abandon()
            user.store.close()
        }
        followers.begin(user.store)
        try writers.begin()
        for (place, (milliseconds, step)) in scenario.steps.enumerated() {
            Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
            monitor.begin(orPrint: "\(scenario)\nstep \(place), \(step), hangs")
            try perform(step)
            monitor.end()
            followers.noteEnds()
            guard violations.isEmpty else { break }
        }
        monitor.begin(orPrint: "\(scenario)\nfinishing hangs")
        try finish()
        monitor.end()
    }

    // MARK: Steps

    private mutating func perform(_ step: LiveRolloutStep) throws {
        do {
            if try take(step) { done[step.kind, default: 0] += 1 }
        } catch let error as HabitStoreError {
            refuse("\(step.kind): \(Report.text(error))")
            if Self.never.contains(error.code) { faults.append("\(step): \(error)") }
        }
    }

    private mutating func refuse(_ what: String) { refusals[what, default: 0] += 1 }

    /// - Returns: whether the step was taken.
    private mutating func take(_ step: LiveRolloutStep) throws -> Bool {
        switch step {
        case .forward: return try goForward()
        case .back(let stages): return try goBack(stages)
        case .kill(let isForAll):
            try user.kill(isForAll: isForAll)
            return try user.store.applyKill()
        case .rearm: try user.rearm()
        case .crowd(let users): crowd(users)
        case .write(let count): for _ in 0..<count { write() }
        case .killWriter(let place):
            guard writers.canBeReplaced else { return false }
            writers.kill(place)
            try writers.replace(place)
        case .killAllWriters: return try killAllWriters()
        case .prune(let kept): return try followers.prune(but: kept, user.store)
        case .freezeWriter(let place, let milliseconds): writers.freeze(place, milliseconds: milliseconds)
        case .reopen(let engine): try reopen(engine)
        case .exchange(let place): try followers.exchange(place, user.store)
        case .feed(let percent): followers.follow(after: percent, user.store)
        case .quiet: return try rest()
        }
        return true
    }

    private mutating func goForward() throws -> Bool {
        if let missing = try user.goForward(tries: Self.triesForward) {
            refuse("forward: \(missing.prefix(90))")
            return false
        }
        done["reached \(try user.store.stage().rawValue)", default: 0] += 1
        return true
    }

    private func goBack(_ stages: Int) throws -> Bool {
        let here = try user.store.stage()
        guard here > .off else { return false }
        try user.store.demote(to: Stage.allCases[max(0, here.position - stages)])
        return true
    }

    private mutating func write() {
        ownNumber += 1
        let number = ownNumber
        own.take(.begun, "\(number)")
        do {
            try user.store.write(author: ConcurrentWorkload.author(number)) {
                try ConcurrentWorkload.write(number, in: $0)
            }
            own.take(.acknowledged, "\(number)")
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            own.take(.unknown, "\(number)")
        } catch {
            own.take(.failed, "\(number)", Report.text(error))
        }
    }

    /// No other process uses the other users: nothing may prevent this process from writing to them, except a kill from a stage at which the way back
    /// is a
    /// copy.
    private mutating func crowd(_ users: Int) {
        guests = []
        for guest in 0..<users {
            do {
                guests.append(try user.stores.store(for: "guest \(guest)"))
                try guests[guest].save(Draft(content: "guest"))
            } catch let error as HabitStoreError where error.code == .notAuthoritative {
                refuse("other users: \(Report.text(error))")
            } catch {
                return faults.append("cannot write to guest \(guest): \(error)")
            }
        }
    }

    private mutating func reopen(_ engine: EngineName?) throws {
        closings += user.stores.madeRoomCount
        user.store.close()
        guests = []
        followers.awaitEnds()
        try flags.want(.init(backend: engine))
        let deadline = ContinuousClock.now + .seconds(Self.openingSeconds)
        while true {
            do {
                user = try SweptUser(root: root, flags: flags, options: Self.options)
                break
            } catch let error as HabitStoreError
                where !Self.never.contains(error.code) && ContinuousClock.now < deadline
            {
                refuse("reopen: \(Report.text(error))")
            }
        }
        followers.begin(user.store)
    }

    /// Followers also receive what a writer has committed but not acknowledged.
    private mutating func killAllWriters() throws -> Bool {
        guard writers.canBeReplaced else { return false }
        writers.killAll()
        try awaitPresent()
        for place in scenario.writers.indices { try writers.replace(place) }
        return true
    }

    private mutating func rest() throws -> Bool {
        guard writers.pause() else { return false }
        defer { writers.resume() }
        try awaitPresent()
        return true
    }

    // MARK: Checking

    /// Waits until all followers have received the current state; no process may be writing.
    private mutating func awaitPresent() throws {
        let last = try user.store.read { transaction in
            let information = try transaction.information()
            let before = HistoryToken(rawValue: information.token.rawValue - 1)
            return try transaction.fetchHistory(after: max(before, information.historyFloor)).last
        }
        // If even the last write is pruned, all feeds had received it.
        let number = last.flatMap { ConcurrentWorkload.number($0.author) }
        let isAcknowledged = number.map { own.ledger.acknowledged.contains($0) || writers.haveAcknowledged($0) } ?? true
        try followers.awaitPresent(user.store, isAcknowledged: isAcknowledged)
    }

    /// Ends the writers, and checks everything.
    private mutating func finish() throws {
        let report = try writers.finish()
        faults += report.violations
        refusals.merge(report.refusals.merging(own.refusals, uniquingKeysWith: +), uniquingKeysWith: +)
        guard violations.isEmpty else { return }
        try awaitPresent()
        followers.noteEnds()
        let (start, kept, contents) = try user.store.read { transaction in
            let start = try transaction.information().historyFloor
            return (start, try transaction.fetchHistory(after: start), try Contents(transaction))
        }
        closings += user.stores.madeRoomCount
        user.store.close()
        followers.awaitEnds()
        let history = followers.history(after: start, kept)
        writes = history.count
        check(report, history)
        try followers.compare(history, contents)
        if violations.isEmpty { try putBack() }
    }

    private mutating func putBack() throws {
        try flags.want(.init())
        var end = LivePutBack(scenario, root: root, flags: flags, in: folder)
        try end.run()
        faults += end.violations
        if let refusal = end.refusal { return refuse("put back: \(refusal)") }
        done["store restored while a process was stopped", default: 0] += 1
    }

    /// Every acknowledged write is in the history, and no failed one is.
    private mutating func check(_ report: Report, _ history: [HistoryTransaction]) {
        let numbers = Set(history.compactMap { ConcurrentWorkload.number($0.author) })
        let ledger = report.ledger + own.ledger
        faults += ledger.losses(numbers) + ledger.additions(numbers)
    }
}

/// The processes that write to a followed user: children of the concurrent sweep's kind.
struct LiveWriters {
    private let scenario: LiveRolloutScenario
    private let root: String
    private let folder: URL
    private var processes: [ConcurrentProcess] = []
    /// The current process at each place.
    private var places: [Int] = []
    /// Where writers died, with their counts.
    private(set) var deaths: [String: Int] = [:]

    /// The time limit for a process to pause.
    private static let pausingSeconds = 8.0
    /// The time limit for all processes to end.
    private static let endingSeconds = 90.0
    private static let pauseSeconds = 0.005
    /// Two lanes are reserved: for the writes before the scenario, and for the following process.
    private static let most = ConcurrentWorkload.lanes - 2

    init(_ scenario: LiveRolloutScenario, root: String, in folder: URL) {
        (self.scenario, self.root, self.folder) = (scenario, root, folder)
    }

    mutating func begin() throws {
        for writer in scenario.writers {
            places.append(processes.count)
            try begin(writer, crashPoint: writer.crashPoint)
        }
    }

    private mutating func begin(_ writer: LiveRolloutScenario.Writer, crashPoint: String?) throws {
        let writerIndex = processes.count + 1
        var arguments = [
            "--root", root, "--flags", folder.appendingPathComponent("flags-\(writerIndex).json").path,
            "--old", scenario.old.rawValue, "--lane", "\(writerIndex)", "--seed",
            "\(writer.seed &+ UInt64(writerIndex))",
            "--rest", "\(writer.restMilliseconds)",
        ]
        if !writer.duties.isEmpty { arguments += ["--duty"] + writer.duties.map(\.rawValue) }
        let errors = folder.appendingPathComponent("errors-\(writerIndex)")
        processes.append(
            try ConcurrentProcess(arguments, of: nil, writerIndex: writerIndex, crashPoint: crashPoint, errors: errors)
        )
    }

    /// Whether two more processes can be started.
    var canBeReplaced: Bool { processes.count + places.count <= Self.most }

    /// Kills a writer.
    func kill(_ place: Int) { processes[places[place]].child.kill() }

    func killAll() { for place in places.indices { kill(place) } }

    /// Starts a writer to replace one that was killed.
    mutating func replace(_ place: Int) throws {
        places[place] = processes.count
        try begin(scenario.writers[place], crashPoint: nil)
    }

    /// Stops a writer for this long.
    func freeze(_ place: Int, milliseconds: Int) {
        processes[places[place]].child.signal(SIGSTOP)
        Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
        processes[places[place]].child.signal(SIGCONT)
    }

    /// Pauses all writers.
    ///
    /// - Returns: whether all are paused; otherwise all continue.
    func pause() -> Bool {
        let running = places.map { processes[$0] }
        let before = running.map { Self.answers($0) }
        for process in running { process.child.tell("pause") }
        let deadline = ContinuousClock.now + .seconds(Self.pausingSeconds)
        while zip(running, before).contains(where: { $0.0.child.isRunning && Self.answers($0.0).all == $0.1.all }) {
            guard ContinuousClock.now < deadline else { break }
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        // A process that died at its crash point counts as paused.
        if zip(running, before).allSatisfy({ !$0.0.child.isRunning || Self.answers($0.0).resting > $0.1.resting }) {
            return true
        }
        resume()
        return false
    }

    private static func answers(_ process: ConcurrentProcess) -> (resting: Int, all: Int) {
        let resting = process.count(of: ConcurrentProcess.paused)
        return (resting, resting + process.count(of: ConcurrentProcess.unpaused))
    }

    /// Whether a writer reported this write as acknowledged.
    func haveAcknowledged(_ number: Int) -> Bool {
        processes.contains { $0.count(of: "\(Report.Line.acknowledged.rawValue) \(number)") > 0 }
    }

    func resume() { for place in places { processes[place].child.tell("resume") } }

    /// Tells all processes to end, and waits for that.
    ///
    /// - Returns: their reports.
    mutating func finish() throws -> Report {
        for process in processes { process.child.closeInput() }
        let deadline = ContinuousClock.now + .seconds(Self.endingSeconds)
        while processes.contains(where: \.child.isRunning), ContinuousClock.now < deadline {
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        var report = Report()
        for process in processes {
            if process.child.isRunning {
                report.note(violation: "process \(process.writerIndex) did not end within \(Self.endingSeconds) s")
                process.child.signal(SIGKILL)
            }
            let end = try process.child.end()
            report.take(end.outputBytes)
            if end.isSignalled, end.wasKilled {
                deaths["at random", default: 0] += 1
                continue
            }
            let point = process.crashPoint?.split(separator: ":").first.map(String.init)
            if end.isSignalled, end.status == SIGKILL, let point {
                deaths[point, default: 0] += 1
                continue
            }
            guard end.isSignalled || end.status != 0 else { continue }
            let how = "\(end.isSignalled ? "signal" : "status") \(end.status): \(process.death.summary)"
            report.note(violation: "process \(process.writerIndex) ended with \(how)")
        }
        return report
    }

    /// Kills the remaining processes.
    func abandon() { for process in processes { process.child.signal(SIGKILL) } }
}
