let store = try InMemoryHabitStore()
let list = List()

struct List {
    func show(_ records: LiveRecords<Habit>, _ difference: ResultsDifference) {}
}
