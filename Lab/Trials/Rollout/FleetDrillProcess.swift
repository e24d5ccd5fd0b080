import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import Logging
import StandardEngines
import Synchronization

/// A child process of a drill.
struct FleetDrillProcess {
    let child: ChildProcess

    init(_ command: String, _ arguments: [String]) throws {
        child = try ChildProcess(
            ChildProcess.ownProgram,
            [command] + arguments,
            input: .open,
            errors: .inherited
        )
    }

    /// The process's peak memory in bytes; nil if the system does not report it in `/proc`.
    var memoryBytes: Int? {
        let path = "/proc/\(child.id)/status"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return kibibytes << 10
    }

    /// Waits for a run to end.
    func outcome() throws -> FleetRunChildCommand.Outcome {
        let end = try child.end(withinSeconds: nil)
        guard end.isSuccess else { throw FleetDrillFailure("a run exited with \(end.status)") }
        return try JSONDecoder().decode(FleetRunChildCommand.Outcome.self, from: end.outputBytes)
    }

    /// Ends a process that works until its input ends.
    func finish() throws {
        let end = try child.finish()
        guard end.isSuccess else { throw FleetDrillFailure("a process of the drill exited with \(end.status)") }
    }
}

/// The failures of several threads.
final class Failures: Sendable {
    private let found = Mutex<[String]>([])

    var all: [String] { found.withLock { $0 } }

    func add(_ failure: String) { found.withLock { $0.append(failure) } }
}

/// The process that runs a drill's fleet.
struct FleetRunChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fleet-run-child", shouldDisplay: false)

    @Argument var root: String

    func run() throws {
        let drill = FleetDrillRoot(path: root)
        let end = try drill.fleet.run(drill.stores(), by: "the drill", pressure: { nil }) { _ in }
        let outcome: Outcome =
            switch end {
            case .done(let passedOver): Outcome(isDone: true, passedOver: passedOver)
            case .halted(_, let because, let user): Outcome(isDone: false, because: because, user: user)
            }
        print(String(decoding: try JSONEncoder().encode(outcome), as: UTF8.self))
    }

    /// How the run ended.
    struct Outcome: Codable {
        var isDone: Bool
        var passedOver = 0
        var because: String?
        var user: String?
        /// The process's peak memory in bytes.
        var memoryBytes = Self.memory()

        private static func memory() -> Int {
            var usage = rusage()
            #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
            #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss * 1_024
            #endif
        }
    }
}

/// A process that writes to a drill's users while they are moved, until its input ends. Each write that was not refused is a line of its log: the
/// user,
/// the entry, and whether it was acknowledged.
struct FleetWriterChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fleet-writer-child", shouldDisplay: false)

    @Argument var root: String
    @Argument var log: String
    @Option var users: Int
    @Option var seed: UInt64

    /// The pause after each write.
    private static let pauseSeconds = 0.02

    func run() throws {
        let end = InputEnd()
        let stores = try FleetDrillRoot(path: root).stores()
        try Data().write(to: URL(fileURLWithPath: log))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        var random = SeededGenerator(seed: seed)
        while !end.isReached {
            let user = FleetGenerator.user(Int.random(in: 0..<users, using: &random))
            let entry = Entry(note: "drill", habitID: nil)
            var outcome = "written"
            do {
                let store = try stores.store(for: user)
                defer { store.close() }
                try store.write(author: "drill") { try $0.save(entry) }
            } catch let error as HabitStoreError where error.code == .outcomeUnknown {
                outcome = "unknown"
            } catch let error as HabitStoreError where Self.mayRefuse.contains(error.code) {
                continue
            }
            try file.write(contentsOf: Data("\(user) \(entry.id.uuidString) \(outcome)\n".utf8))
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
    }

    /// The errors with which a write may be refused while its user is moved.
    private static let mayRefuse: Set<HabitStoreError.Code> = [.busy, .notAuthoritative]
}

/// The root of a drill's users, and how its processes open it.
struct FleetDrillRoot {
    let path: String

    private var flags: String { path + "/flags.json" }

    /// Writes the flag file, which sends all users to `complete`.
    func make() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try StageFlags(path: flags, EnginePair(old: .sqlite, new: .lmdb)).want(.complete)
    }

    /// The stores, whose gate requires no shadow reads and no retention: a drill has no readers and cannot wait for weeks.
    func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.gate.retentionSeconds = 0
        options.logger = Logger(label: "fleet-drill") { _ in SwiftLogNoOpLogHandler() }
        return try UserStores(
            root: path,
            flags: flags,
            engines: .standard,
            schema: HabitSchema.current,
            options: options
        )
    }

    var fleet: Fleet { Fleet(root: path) }

    /// Draws the waves of a plan.
    func draw(_ plan: String) throws -> FleetMembers {
        let file = path + "/plan.json"
        try Data(plan.utf8).write(to: URL(fileURLWithPath: file))
        let (read, issues) = try FleetPlanReader.read(path: file)
        guard let read else { throw FleetDrillFailure("the drill's plan is refused: \(issues)") }
        let stores = try stores()
        let users = try stores.users().users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) }
        return try fleet.draw(read, text: Data(plan.utf8), isYAML: false, users, by: "the drill")
    }

    /// The address of a user's store.
    func address(_ engine: EngineName, of user: String) throws -> StoreAddress {
        let directory = try UserDirectory(root: path, user: user)
        return Engines.standard.address(engine, ofUser: user, inFolder: directory.path)
    }
}

/// A violation that a drill found.
struct FleetDrillFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The measurements of a drill, with their goals.
struct FleetDrillFigures {
    private(set) var lines: [String] = []
    /// The number of missed goals.
    private(set) var missed = 0

    /// Adds a measurement and prints it immediately.
    ///
    /// - Parameter goal: its maximum; nil without a goal.
    mutating func note(_ what: String, _ value: Double, _ unit: String, goal: Double? = nil) {
        var line = "\(what): \(Self.text(value)) \(unit)"
        if let goal {
            let isMet = value <= goal
            line += " (goal \(Self.text(goal)) \(unit)\(isMet ? "" : ", MISSED"))"
            if !isMet { missed += 1 }
        }
        note(line)
    }

    /// Adds a line about a check that passed.
    mutating func note(_ line: String) {
        lines.append(line)
        print(line)
        fflush(nil)
    }

    private static func text(_ value: Double) -> String {
        value >= 100 ? "\(Int(value.rounded()))" : "\((value * 100).rounded() / 100)"
    }

    /// The duration of `body` in seconds.
    static func seconds<R>(_ body: () throws -> R) rethrows -> (seconds: Double, result: R) {
        let start = ContinuousClock.now
        let result = try body()
        return ((ContinuousClock.now - start) / .seconds(1), result)
    }
}

/// Many users as an app has them before its rollout: each with a SQLite store that no rollout has touched. A few stores are created and then copied.
struct FleetGenerator {
    /// How much a user has written.
    enum Size: CaseIterable {
        case small, large

        var habits: Int { self == .small ? 2 : 20 }
        var entriesEach: Int { self == .small ? 5 : 100 }
    }

    let root: String
    /// One user in this many is a large one.
    var largeOneIn = 50
    /// How many stores of each size are created.
    private static let templates = 4

    /// The id of a user by number.
    static func user(_ number: Int) -> String { "user-\(number)" }

    func size(_ number: Int) -> Size { number.isMultiple(of: largeOneIn) ? .large : .small }

    /// Makes users numbered from 0; existing users are kept.
    ///
    /// - Throws: the reason why a store cannot be created.
    func make(_ count: Int, progress: (Int) -> Void = { _ in }) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "habitstore-fleet-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var templates: [Size: [Data]] = [:]
        for size in Size.allCases {
            templates[size] = try (0..<Self.templates).map { number in
                try template(size, folder.appendingPathComponent("\(size)-\(number).sqlite").path)
            }
        }
        for number in 0..<count {
            let user = try UserDirectory(root: root, user: Self.user(number))
            let path = user.path + "/store.sqlite"
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            try FileManager.default.createDirectory(
                atPath: user.path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let stores = templates[size(number)] ?? []
            try stores[number % stores.count].write(to: URL(fileURLWithPath: path))
            if number.isMultiple(of: 1_000) { progress(number) }
        }
        progress(count)
    }

    /// The bytes of a closed store.
    private func template(_ size: Size, _ path: String) throws -> Data {
        let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current, access: .create)
        for number in 0..<size.habits {
            try store.write(author: "app") { transaction in
                let habit = Habit(name: "Habit \(number)")
                try transaction.save(habit)
                for day in 0..<size.entriesEach {
                    let date = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)
                    try transaction.save(Entry(date: date, note: "day \(day)", habitID: habit.id))
                }
            }
        }
        store.close()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }
}

/// Makes the users of a fleet.
struct FleetGenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-generate",
        abstract: "Create many users of two sizes, each with a SQLite store that no rollout has touched."
    )

    @Argument(help: "The root; existing users are kept.")
    var root: String

    @Option(help: "How many users.")
    var users = 100_000

    @Option(help: "One user in this many is large.")
    var largeOneIn = 50

    func validate() throws {
        guard users > 0, largeOneIn > 0 else { throw ValidationError("--users and --large-one-in must be 1 or more") }
    }

    func run() throws {
        try FleetGenerator(root: root, largeOneIn: largeOneIn).make(users) { count in
            FileHandle.standardError.write(Data("\r\(count) of \(users) users".utf8))
        }
        FileHandle.standardError.write(Data("\n".utf8))
    }
}
