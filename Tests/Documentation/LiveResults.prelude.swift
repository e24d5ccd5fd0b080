import HabitTracker

let store = try InMemoryHabitStore(schema: HabitSchema.current)
let list = List()

struct List {
    func show(_ records: LiveRecords<Habit>, _ difference: ResultsDifference) {}
}
