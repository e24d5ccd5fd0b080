import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines
import Synchronization

/// Kills processes whose threads write to one store and share commits, and checks what each has left.
struct GroupSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group-sweep",
        abstract: "Kill processes whose threads share commits with SIGKILL at random times, and check their stores."
    )

    @Option(help: "How many processes to kill.")
    var kills = 40

    @Option(help: "How many threads write in each process.")
    var threads = 8

    @OptionGroup var options: SweepOptions

    /// How often one store is written to and killed before the next one is created.
    private static let lives = 4
    /// The shortest and longest lifetime of a child, in seconds.
    private static let lifetime = 0.05...0.25

    func run() throws {
        var generator = SeededGenerator(seed: options.printedSeed())
        let folder = try options.makeFolder("group")
        defer { try? FileManager.default.removeItem(at: folder) }
        var (killed, acknowledged, violations) = (0, 0, 0)
        while killed < kills {
            let engine = EngineName.standard[killed / Self.lives % EngineName.standard.count]
            let path = folder.appendingPathComponent("\(killed).store").path
            var report = Report()
            for _ in 0..<Self.lives where killed < kills {
                let arguments = ["--store", path, "--engine", engine.rawValue, "--threads", "\(threads)"]
                let child = try ChildProcess.run(
                    arguments + ["--first", "\((report.ledger.begun.max() ?? 0) + 1)"],
                    as: "group-child",
                    crashPoint: nil,
                    lifetimeSeconds: Double.random(in: Self.lifetime, using: &generator)
                )
                killed += 1
                report.take(child)
                let store = try GroupWorkload.open(path, engine)
                for violation in try GroupWorkload.contradictions(store, report) {
                    print("VIOLATION kill \(killed), \(engine.rawValue): \(violation)")
                    violations += 1
                }
                store.close()
            }
            acknowledged += report.ledger.acknowledged.count
        }
        print("\(killed) kills, \(acknowledged) acknowledged writes")
        print("\(violations) violations")
        if violations > 0 { throw ExitCode.failure }
    }
}

/// Writes to one store from many threads until it is killed, and reports each step immediately.
struct GroupChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group-child",
        abstract: "Write to one store from many threads until this process is killed; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The store.")
    var store: String

    @Option(help: "Its engine.")
    var engine: EngineName

    @Option(help: "The number of the first write.")
    var first: Int

    @Option(help: "How many threads write.")
    var threads: Int

    /// How long a child lives that is not killed.
    private static let lifetimeSeconds = 60.0

    mutating func run() throws {
        let store = try GroupWorkload.open(self.store, engine)
        let next = Atomic<Int>(first)
        let end = Date(timeIntervalSinceNow: Self.lifetimeSeconds)
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            while Date() < end {
                let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                Report.Line.begun.tell("\(number)")
                do {
                    try store.write(author: "\(number)") { try GroupWorkload.write(number, in: $0) }
                    Report.Line.acknowledged.tell("\(number)")
                } catch is GroupWorkload.GivenUp {
                    Report.Line.failed.tell("\(number) given up")
                } catch {
                    Report.Line.violation.tell("write \(number): \(error)")
                }
            }
        }
    }
}

/// The writes of many threads to one store, and the contents that it may then have.
enum GroupWorkload {
    /// Some writes throw this after they have stored all but the last of their records.
    struct GivenUp: Error {}

    static func open(_ path: String, _ engine: EngineName) throws -> any UserStoreBackend {
        try StoreAddress(engine, path: path).open(.create, schema: HabitSchema.current)
    }

    private static func givesUp(_ number: Int) -> Bool { number.isMultiple(of: 5) }

    /// Write `number`: a habit with two entries, and a record that names it; some writes give up in the middle.
    static func write(_ number: Int, in transaction: any WriteTransaction) throws {
        let habit = Habit(name: "\(number)")
        try transaction.insert(habit)
        for part in 0..<2 { try transaction.insert(Entry(note: "\(number)", value: Double(part), habitID: habit.id)) }
        if givesUp(number) { throw GivenUp() }
        try transaction.insert(Draft(content: "\(number)"))
    }

    /// The violations in a store after these writes; empty without any.
    static func contradictions(_ store: any UserStoreBackend, _ report: Report) throws -> [String] {
        var wrong = report.violations
        try store.read { moment in
            let drafts = try moment.all(Draft.self).compactMap { Int($0.content) }
            let numbers = Set(drafts)
            let habits = try moment.all(Habit.self).compactMap { Int($0.name) }
            let entries = try moment.all(Entry.self).compactMap { $0.note.flatMap { Int($0) } }
            if drafts.count != numbers.count { wrong.append("a write exists twice") }
            if habits.sorted() != numbers.sorted() { wrong.append("a partial write: habits") }
            if entries.sorted() != (Array(numbers) + Array(numbers)).sorted() {
                wrong.append("a partial write: entries")
            }
            wrong += report.ledger.losses(numbers)
            let foreign = numbers.subtracting(report.ledger.begun).union(numbers.filter(givesUp))
            if !foreign.isEmpty { wrong.append("writes exist that never began or gave up: \(foreign.sorted())") }
            let history = try moment.fetchHistory(after: .zero)
            if history.map(\.token.rawValue) != Array(0..<Int64(history.count)).map({ $0 + 1 }) {
                wrong.append("the history's tokens have gaps")
            }
            if Set(history.compactMap { $0.author.flatMap { Int($0) } }) != numbers || history.count != numbers.count {
                wrong.append("the history does not match the records")
            }
            if let odd = history.first(where: { $0.changes.count != 4 }) {
                wrong.append("the history transaction \(odd.token) has \(odd.changes.count) changes")
            }
        }
        wrong += try store.check { _ in }.map { "check: \($0.message)" }
        wrong += try store.checkDigests().map { "digests: \($0.message)" }
        return wrong
    }
}
