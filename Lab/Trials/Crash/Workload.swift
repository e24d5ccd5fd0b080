import Foundation
import HabitStore
import HabitTracker

/// The writes of a child. The effect of each follows from its number and from what earlier writes have left, so the expected contents of a store
/// follow
/// from the set of writes in it.
enum Workload {
    private enum Kind: Int {
        case counter, tag, habit, morning, evening, log
    }

    /// How many habits exist at a time; each write deletes the habit that was inserted this many writes before.
    private static let livingHabits = 6
    private static let tags = 3
    private static let counterID = id(.counter, 0)

    private static func id(_ kind: Kind, _ number: Int) -> UUID {
        let digits = String(max(0, number), radix: 16)
        let padded = String(repeating: "0", count: 12 - digits.count) + digits
        return UUID(uuidString: "00000000-0000-4000-800\(kind.rawValue)-\(padded)") ?? UUID()
    }

    private static func date(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: 8e8 + Double(number) / 4) }

    private static func tagIDs(_ number: Int) -> Set<UUID> { [id(.tag, number % tags), id(.tag, number / 2 % tags)] }

    /// A write's author in the history.
    static func author(_ number: Int) -> String { "write \(number)" }

    /// Write `number`: increments the counter, inserts a habit with tags and entries, changes the records of the two writes before, deletes an old
    /// habit
    /// with its entries, and leaves a permanent record of itself.
    static func write(_ number: Int, in transaction: any WriteTransaction) throws {
        if try transaction.model(Tag.self, id: id(.tag, 0)) == nil {
            for tag in 0..<tags { try transaction.insert(Tag(id: id(.tag, tag), name: "tag \(tag)")) }
            try transaction.insert(Habit(id: counterID, name: "none", createdAt: date(0)))
        }
        guard var counter = try transaction.model(Habit.self, id: counterID) else {
            throw HabitStoreError(.internalInconsistency, "the record that counts the writes is missing")
        }
        counter.streak += 1
        counter.name = author(number)
        try transaction.save(counter)
        let habit = id(.habit, number)
        try transaction.insert(
            Habit(id: habit, name: "habit \(number)", createdAt: date(number), tagIDs: tagIDs(number))
        )
        for kind in [Kind.morning, .evening] {
            try transaction.insert(
                Entry(id: id(kind, number), date: date(number), note: "\(kind)", value: Double(number), habitID: habit)
            )
        }
        if var before = try transaction.model(Habit.self, id: id(.habit, number - 1)) {
            before.isArchived = true
            before.tagIDs = tagIDs(number)
            try transaction.save(before)
        }
        if var entry = try transaction.model(Entry.self, id: id(.evening, number - 2)) {
            entry.note = nil
            entry.habitID = habit
            try transaction.save(entry)
        }
        if number > livingHabits { try transaction.delete(Habit.self, id: id(.habit, number - livingHabits)) }
        try transaction.insert(Draft(id: id(.log, number), content: "\(number)", creationDate: date(number)))
    }

    /// The numbers of the writes in a store, from the draft that each has left.
    static func numbers(_ transaction: any ReadTransaction) throws -> [Int] {
        try transaction.all(Draft.self).compactMap { Int($0.content) }
    }

    /// The contradiction that a reader sees in a store; nil if it sees a state between two writes.
    static func contradiction(_ transaction: any ReadTransaction) throws -> String? {
        let count = try transaction.model(Habit.self, id: counterID)?.streak ?? 0
        let written = try transaction.fetchCount(FetchDescriptor<Draft>())
        return count == written ? nil : "the counter is \(count), but \(written) writes exist"
    }
}
