import ArgumentParser
import CSystemFaults
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Runs several processes on one user at the same time; stops, continues and kills them, restores older files, and checks what is left.
struct ConcurrentSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concurrent-sweep",
        abstract:
            "Stop and kill processes that move, kill, copy and write one user concurrently, make their system calls fail, and check the stores.",
        discussion:
            "The seed reproduces the processes and the events, but not the results, since the processes race."
    )

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many processes to kill.")
    var kills = 60

    @Option(help: "An earlier version of this executable, which runs some of the processes.")
    var previous: String?

    func run() throws {
        let seed = options.sweep.printedSeed()
        // A process may die while the sweep writes to it.
        signal(SIGPIPE, SIG_IGN)
        let folder = try options.sweep.makeFolder("concurrent")
        let templates = try ConcurrentTemplates(in: folder)
        let previous = previous.map { URL(fileURLWithPath: $0) }
        try options.run(in: folder, ConcurrentFigures(), expects: CrashPoint.all, until: { $0.kills >= kills }) {
            number,
            place,
            figures in
            let scenario = ConcurrentScenario(seed: seed, number: number)
            if options.verbose { print(scenario) }
            return try Self.run(scenario, previous, place, templates, &figures)
        }
    }

    private static func run(
        _ scenario: ConcurrentScenario,
        _ previous: URL?,
        _ folder: URL,
        _ templates: ConcurrentTemplates,
        _ figures: inout ConcurrentFigures
    ) throws -> Bool {
        let (root, older) = (folder.appendingPathComponent("root"), folder.appendingPathComponent("older"))
        let base = try templates.copy(
            scenario.start,
            scenario.old,
            hasLongEvidence: scenario.hasLongEvidence,
            to: root
        )
        if scenario.lacksControl {
            let files = try ConcurrentFiles(root: root)
            try files.apply(.missingControl, from: files)
        }
        var run = try ConcurrentRun(scenario, previous: previous, in: folder)
        let reports = try run.run(&figures)
        if let tampering = scenario.tampering {
            _ = try templates.copy(scenario.start, scenario.old, hasLongEvidence: false, to: older)
            try ConcurrentFiles(root: root).apply(tampering, from: try ConcurrentFiles(root: older))
        }
        // The recovery changes the files that it checks: keep a copy for investigations.
        try FileManager.default.copyItem(at: root, to: folder.appendingPathComponent("before"))
        let outcome = ConcurrentRecovery(
            root: root,
            scenario: scenario,
            base: base,
            reports: reports,
            isMixed: run.isMixed
        )
        .check()
        figures.add(run, reports, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}

/// The counts of a concurrent sweep.
struct ConcurrentFigures: ScenarioFigures {
    private(set) var kills = 0
    private(set) var violations = 0
    private var scenarios = 0
    private var acknowledged = 0
    private var open = 0
    private var keptOpen = 0
    private(set) var places: [String: Int] = [:]
    private var events: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private var ends: [String: Int] = [:]
    private var skipped: Set<String> = []

    /// Counts a death.
    mutating func died(at point: String) {
        kills += 1
        places[point, default: 0] += 1
    }

    /// Counts the result of a scenario.
    mutating func add(_ run: ConcurrentRun, _ reports: [Report], _ outcome: ConcurrentRecovery.Outcome) {
        scenarios += 1
        events.merge(run.done, uniquingKeysWith: +)
        skipped.formUnion(run.skipped)
        for report in reports {
            acknowledged += report.ledger.acknowledged.count
            open += report.ledger.open.count
            events.merge(report.done, uniquingKeysWith: +)
            refusals.merge(report.refusals, uniquingKeysWith: +)
        }
        keptOpen += outcome.keptOpen
        for end in outcome.ends { ends[end, default: 0] += 1 }
        violations += outcome.violations.count
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["events:"] + Self.table(events)
        lines += ["users after reopening:"] + Self.table(ends)
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        lines += skipped.sorted().map { "left out: \($0)" }
        lines.append(
            "\(scenarios) scenarios with \(kills) kills in \(Int(seconds)) s, \(acknowledged) writes acknowledged, "
                + "\(open) in flight or unknown, of which \(keptOpen) took effect"
        )
        return lines
    }
}

/// Runs the processes of a scenario and its events.
struct ConcurrentRun {
    private let scenario: ConcurrentScenario
    /// The executable of an earlier version.
    private let previous: URL?
    private let folder: URL
    private let root: URL
    private let files: ConcurrentFiles
    private var processes: [ConcurrentProcess] = []
    /// The current process at each place; one that was killed may have a successor.
    private var places: [Int] = []
    /// The events that took place, with their counts.
    private(set) var done: [String: Int] = [:]
    /// The events that were impossible here, and why.
    private(set) var skipped: Set<String> = []

    /// The time limit for all processes to end, in seconds.
    private static let endingSeconds = 90.0
    private static let noMemory = "\(ConcurrentNemesis.limited) \(ConcurrentTrouble.memory.rawValue)"
    /// The time limit for a process to pause.
    private static let pausingSeconds = 6.0

    /// - Parameter previous: the executable of an earlier version, which runs some of the processes.
    init(_ scenario: ConcurrentScenario, previous: URL?, in folder: URL) throws {
        self.scenario = scenario
        self.previous = previous
        self.folder = folder
        root = folder.appendingPathComponent("root")
        files = try ConcurrentFiles(root: root)
        if !system_faults_are_supported() {
            skipped.insert("failing calls and shifted clocks, which need glibc")
        }
    }

    /// Whether processes of an earlier version take part.
    var isMixed: Bool { previous != nil && scenario.parts.contains(where: \.isPrevious) }

    /// Runs everything until all processes have ended.
    ///
    /// - Returns: the report of each process.
    mutating func run(_ figures: inout ConcurrentFigures) throws -> [Report] {
        defer { for process in processes { process.child.signal(SIGKILL) } }
        for (place, part) in scenario.parts.enumerated() {
            places.append(place)
            try begin(part, crashPoint: part.crashPoint)
        }
        let started = Date()
        for event in scenario.events {
            Thread.sleep(until: started.addingTimeInterval(event.seconds))
            try apply(event)
        }
        Thread.sleep(until: started.addingTimeInterval(scenario.seconds))
        showEvidence()
        for process in processes { process.child.signal(SIGCONT) }
        for (place, part) in scenario.parts.enumerated() {
            let process = processes[places[place]]
            if part.isKilled { process.child.signal(SIGKILL) } else { process.child.closeInput() }
        }
        let isStuck = waitForAll()
        return try processes.map { try report($0, isStuck: isStuck, &figures) }
    }

    private mutating func begin(_ part: ConcurrentScenario.Part, crashPoint: String?) throws {
        let writerIndex = processes.count + 1
        let flags = folder.appendingPathComponent("flags-\(writerIndex).json").path
        let old = part.isExchanged ? scenario.old.otherStandard : scenario.old
        var arguments = [
            "--root", root.path, "--flags", flags, "--old", old.rawValue, "--lane", "\(writerIndex)",
            "--seed", "\(part.seed &+ UInt64(writerIndex))",
        ]
        if part.isSilent { arguments.append("--silent") }
        let program = part.isPrevious ? previous : nil
        let duties = part.duties.filter { program == nil || ConcurrentDuty.known.contains($0) }
        if !duties.isEmpty { arguments += ["--duty"] + duties.map(\.rawValue) }
        if program == nil, !part.troubles.isEmpty {
            arguments += ["--trouble"] + part.troubles.map(\.rawValue) + (part.isLasting ? ["--lasting"] : [])
        }
        let errors = folder.appendingPathComponent("errors-\(writerIndex)")
        let process = try ConcurrentProcess(
            arguments,
            of: program,
            writerIndex: writerIndex,
            crashPoint: crashPoint,
            errors: errors
        )
        processes.append(process)
        count(program == nil ? "begun" : "begun, previous version")
    }

    private mutating func apply(_ event: ConcurrentEvent) throws {
        let process = processes[places[event.process]]
        switch event.kind {
        case .stop:
            process.child.signal(SIGSTOP)
            count("stopped")
        case .goOn: process.child.signal(SIGCONT)
        case .kill: process.child.signal(SIGKILL)
        case .begin:
            places[event.process] = processes.count
            try begin(scenario.parts[event.process], crashPoint: nil)
        case .replaceSQLite: try replace(.sqlite)
        case .replaceLMDB: try replace(.lmdb)
        case .hideEvidence:
            guard files.setEvidence(isWritable: false) else {
                skipped.insert("read-only evidence, which needs chattr and the right to use it")
                return
            }
            count("evidence made read-only")
        case .showEvidence: showEvidence()
        }
    }

    private func showEvidence() {
        if done["evidence made read-only"] != nil { _ = files.setEvidence(isWritable: true) }
    }

    private mutating func count(_ what: String) { done[what, default: 0] += 1 }

    /// Replaces a store's file with a copy of itself, while all processes are paused and have it open.
    private mutating func replace(_ engine: EngineName) throws {
        // An earlier version continues to write to the old file, under the lock of the new one.
        guard !isMixed || engine != .lmdb else { return count("replacements skipped: an earlier version took part") }
        let running = processes.filter(\.child.isRunning)
        for process in running {
            process.child.signal(SIGCONT)
            process.child.tell("pause")
        }
        defer { for process in running { process.child.tell("resume") } }
        let deadline = Date(timeIntervalSinceNow: Self.pausingSeconds)
        while running.contains(where: { $0.child.isRunning && !isAnswered($0) }) {
            guard Date() < deadline else { return count("replacements skipped: a process did not pause") }
            Thread.sleep(forTimeInterval: 0.005)
        }
        guard running.allSatisfy({ !$0.child.isRunning || $0.count(of: ConcurrentProcess.unpaused) == 0 }) else {
            return count("replacements skipped: a process did not pause")
        }
        if try files.replaceByCopy(engine) { count("store replaced by a copy of itself") }
    }

    private func isAnswered(_ process: ConcurrentProcess) -> Bool {
        process.count(of: ConcurrentProcess.paused) + process.count(of: ConcurrentProcess.unpaused) > 0
    }

    /// Waits for all processes to end.
    ///
    /// - Returns: whether some had to be killed.
    private func waitForAll() -> Bool {
        let deadline = Date(timeIntervalSinceNow: Self.endingSeconds)
        while processes.contains(where: \.child.isRunning) {
            guard Date() < deadline else {
                for process in processes { process.child.signal(SIGKILL) }
                return true
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        return false
    }

    private func report(_ process: ConcurrentProcess, isStuck: Bool, _ figures: inout ConcurrentFigures) throws
        -> Report
    {
        let end = try process.child.end()
        try? end.outputBytes.write(to: folder.appendingPathComponent("told-\(process.writerIndex)"))
        var report = Report()
        report.take(end.outputBytes)
        let hadNoMemory =
            report.done[Self.noMemory] != nil && end.isSignalled && !end.wasKilled && process.death.isForWantOfMemory
        let point = process.crashPoint?.split(separator: ":").first.map(String.init)
        switch (end.isSignalled, end.wasKilled) {
        case (true, true): figures.died(at: "at random")
        // No program survives if its language runtime runs out of memory.
        case (true, false) where hadNoMemory: figures.died(at: "at an allocation, with no memory left")
        case (true, false) where end.status == SIGKILL && point != nil: figures.died(at: point ?? "")
        case (true, false):
            report.note(
                violation: "process \(process.writerIndex) died of signal \(end.status): \(process.death.summary)"
            )
        case (false, _) where end.status != 0 || isStuck:
            report.note(
                violation: "process \(process.writerIndex) exited with status \(end.status): \(process.death.summary)"
            )
        case (false, _): break
        }
        return report
    }
}
