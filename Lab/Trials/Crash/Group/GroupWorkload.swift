import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

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
            let lost = report.acknowledged.subtracting(numbers)
            if !lost.isEmpty { wrong.append("acknowledged writes are lost: \(lost.sorted())") }
            let foreign = numbers.subtracting(report.begun).union(numbers.filter(givesUp))
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
