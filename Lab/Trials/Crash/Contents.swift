import HabitStore
import HabitTracker

/// All records of a store.
struct Contents: Equatable {
    private let habits: [Habit]
    private let entries: [Entry]
    private let tags: [Tag]
    private let drafts: [Draft]

    init(_ transaction: any ReadTransaction) throws {
        habits = try transaction.all(Habit.self)
        entries = try transaction.all(Entry.self)
        tags = try transaction.all(Tag.self)
        drafts = try transaction.all(Draft.self)
    }

    /// The contents of a store after exactly these writes, from the reference in memory.
    init(after numbers: [Int]) throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        // One transaction: what a write leaves does not depend on where one ends.
        try store.write { transaction in
            for number in numbers { try Workload.write(number, in: transaction) }
        }
        self = try store.read { try Contents($0) }
    }
}
