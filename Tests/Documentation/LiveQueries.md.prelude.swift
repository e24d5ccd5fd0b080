import HabitTracker

let store = try InMemoryHabitStore(schema: HabitSchema.current)
let list = List()
let progress = Progress()
let records = AsyncStream<Habit> { source in
    for number in 0..<1000 { source.yield(Habit(name: "\(number)")) }
    source.finish()
}

struct List {
    func show(_ records: LiveRecords<Habit>, _ difference: ResultsDifference) {}
}

struct Progress {
    func show(_ count: Int) {}
}
