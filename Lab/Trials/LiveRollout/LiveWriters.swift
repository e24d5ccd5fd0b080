import Foundation
import HabitStore
import HabitStoreRollout

/// The processes that write to a followed user: children of the tangle sweep's kind.
struct LiveWriters {
    private let scenario: LiveRolloutScenario
    private let root: String
    private let folder: URL
    private var processes: [TangleProcess] = []
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
    private static let most = TangleWorkload.lanes - 2

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
        let lane = processes.count + 1
        var arguments = [
            "--root", root, "--flags", folder.appendingPathComponent("flags-\(lane).json").path,
            "--old", scenario.old.rawValue, "--lane", "\(lane)", "--seed", "\(writer.seed &+ UInt64(lane))",
            "--rest", "\(writer.restMilliseconds)",
        ]
        if !writer.duties.isEmpty { arguments += ["--duty"] + writer.duties.map(\.rawValue) }
        let errors = folder.appendingPathComponent("errors-\(lane)")
        processes.append(try TangleProcess(arguments, of: nil, lane: lane, crashPoint: crashPoint, errors: errors))
    }

    /// Whether two more processes can be started.
    var canBeReplaced: Bool { processes.count + places.count <= Self.most }

    /// Kills a writer.
    func kill(_ place: Int) {
        processes[places[place]].signal(SIGKILL)
        processes[places[place]].wait()
    }

    func killAll() { for place in places.indices { kill(place) } }

    /// Starts a writer to replace one that was killed.
    mutating func replace(_ place: Int) throws {
        places[place] = processes.count
        try begin(scenario.writers[place], crashPoint: nil)
    }

    /// Stops a writer for this long.
    func freeze(_ place: Int, milliseconds: Int) {
        processes[places[place]].signal(SIGSTOP)
        Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
        processes[places[place]].signal(SIGCONT)
    }

    /// Pauses all writers.
    ///
    /// - Returns: whether all are paused; otherwise all continue.
    func pause() -> Bool {
        let running = places.map { processes[$0] }
        let before = running.map { Self.answers($0) }
        for process in running { process.tell("pause") }
        let deadline = ContinuousClock.now + .seconds(Self.pausingSeconds)
        while zip(running, before).contains(where: { $0.0.isRunning && Self.answers($0.0).all == $0.1.all }) {
            guard ContinuousClock.now < deadline else { break }
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        // A process that died at its crash point counts as paused.
        if zip(running, before).allSatisfy({ !$0.0.isRunning || Self.answers($0.0).resting > $0.1.resting }) {
            return true
        }
        resume()
        return false
    }

    private static func answers(_ process: TangleProcess) -> (resting: Int, all: Int) {
        let resting = process.count(of: TangleProcess.paused)
        return (resting, resting + process.count(of: TangleProcess.unpaused))
    }

    /// Whether a writer reported this write as acknowledged.
    func haveAcknowledged(_ number: Int) -> Bool {
        processes.contains { $0.count(of: "\(Report.Line.acknowledged.rawValue) \(number)") > 0 }
    }

    func resume() { for place in places { processes[place].tell("resume") } }

    /// Tells all processes to end, and waits for that.
    ///
    /// - Returns: their reports.
    mutating func finish() -> Report {
        for process in processes { process.close() }
        let deadline = ContinuousClock.now + .seconds(Self.endingSeconds)
        while processes.contains(where: \.isRunning), ContinuousClock.now < deadline {
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
        var report = Report()
        for process in processes {
            if process.isRunning {
                report.note(violation: "process \(process.lane) did not end within \(Self.endingSeconds) s")
                process.signal(SIGKILL)
            }
            let end = process.end()
            report.take(end.output)
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
            let how = "\(end.isSignalled ? "signal" : "status") \(end.status): \(end.death.summary)"
            report.note(violation: "process \(process.lane) ended with \(how)")
        }
        return report
    }

    /// Kills the remaining processes.
    func abandon() { for process in processes { process.signal(SIGKILL) } }
}
