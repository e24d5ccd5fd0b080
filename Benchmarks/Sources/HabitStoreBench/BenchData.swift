import CYardstick
import Foundation
import HabitStore
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker

/// Habits and entries, and the queries for all sides.
final class BenchData {
    let habits: [Habit]
    let tags: [Tag]
    let entries: [Entry]
    /// Entries that are not among the others, for commits.
    let spare: [Entry]
    /// Identifiers in random order, each once, at most 100,000.
    let shuffled: [UUID]
    let ranges: [(habit: UUID, from: Date, to: Date)]
    /// The date of the first entry.
    let firstDate: Date

    /// About every fiftieth note contains this.
    static let needle = "rain"
    /// Some of the values are above this.
    static let countedAbove = 100.0

    convenience init(fixture path: String) throws {
        let aside = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-bench-\(UUID())")
        try FileManager.default.createDirectory(at: aside, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: aside) }
        let copy = aside.appendingPathComponent("heavy.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        let store = try SQLiteHabitStore(path: copy.path, schema: HabitSchema.current)
        defer { store.close() }
        self.init(
            habits: try store.all(Habit.self),
            tags: try store.all(Tag.self),
            entries: try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Entry.date)]))
        )
    }

    /// Habits with an entry per day each: at random hours, three in ten with a note of about 20 bytes.
    convenience init(habits: Int, entriesEach days: Int, spare: Int = 0) {
        var random = SeededGenerator(seed: 7)
        func identifier() -> UUID {
            var id = UUID().uuid
            withUnsafeMutableBytes(of: &id) { bytes in
                for place in bytes.indices { bytes[place] = UInt8(truncatingIfNeeded: random.next() >> 24) }
            }
            return UUID(uuid: id)
        }
        func note(_ day: Int) -> String? {
            let drawn = random.next() % 1_000
            return drawn < 300 ? "day \(day), \(drawn < 6 ? Self.needle : "fine") all along" : nil
        }
        let made = (0..<habits).map { Habit(id: identifier(), name: "Habit \($0)", streak: $0) }
        func entry(_ day: Int, _ habit: Habit) -> Entry {
            Entry(
                id: identifier(),
                date: Date(timeIntervalSinceReferenceDate: Double(day) * 86_400 + Double(random.next() % 86_400)),
                note: note(day),
                value: Double(random.next() % 1_000) / 8,
                habitID: habit.id
            )
        }
        let entries = (0..<days).flatMap { day in made.map { entry(day, $0) } }
        self.init(
            habits: made,
            tags: [],
            entries: entries.sorted { $0.date < $1.date },
            spare: (0..<spare).map { entry(days + $0 / habits, made[$0 % habits]) },
            rangeDays: 30
        )
    }

    private init(habits: [Habit], tags: [Tag], entries: [Entry], spare: [Entry] = [], rangeDays: Double = 330) {
        (self.habits, self.tags, self.entries, self.spare) = (habits, tags, entries, spare)
        var random = SeededGenerator(seed: 42)
        shuffled = Array(entries.map(\.id).shuffled(using: &random).prefix(100_000))
        let dates = (entries.first?.date ?? Date(), entries.last?.date ?? Date())
        firstDate = dates.0
        let span = dates.1.timeIntervalSince(dates.0)
        let identifiers = habits.map(\.id)
        ranges = (0..<2_000).map { index in
            let from = dates.0.addingTimeInterval(Double(random.next() % 10_000) / 10_000 * span)
            return (identifiers[index % identifiers.count], from, from.addingTimeInterval(rangeDays * 86_400))
        }
    }

    var habitBytes: [UInt8] { habits.flatMap { habit in withUnsafeBytes(of: habit.id.uuid) { Array($0) } } }
    var shuffledBytes: [UInt8] { shuffled.flatMap { id in withUnsafeBytes(of: id.uuid) { Array($0) } } }

    var cRanges: [cy_range] {
        ranges.map { range in
            var made = cy_range()
            withUnsafeMutableBytes(of: &made.habit) { $0.storeBytes(of: range.habit.uuid, as: uuid_t.self) }
            made.from = range.from.timeIntervalSinceReferenceDate
            made.to = range.to.timeIntervalSinceReferenceDate
            return made
        }
    }
}

/// An error that invalidates the whole measurement.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The fields of an entry, in any model.
protocol EntryFields {
    var id: UUID { get }
    var date: Date { get }
    var note: String? { get }
    var value: Double? { get }
    var habitID: UUID? { get }
}

extension EntryFields {
    /// The same checksum over all fields as in the yardstick.
    var checksum: UInt64 {
        let length = UInt64(bitPattern: Int64(note.map { $0.utf8.count } ?? -1))
        var sum = date.timeIntervalSinceReferenceDate.bitPattern &+ length &* 17 &+ UInt64(id.uuid.0)
        if let value { sum &+= value.bitPattern &* 31 }
        if let habitID { sum &+= UInt64(habitID.uuid.15) }
        return sum
    }
}

extension Entry: EntryFields {}

extension Array where Element: EntryFields {
    /// The sum over all elements, read in place.
    var checksum: UInt64 {
        var sum: UInt64 = 0
        for index in indices { sum &+= self[index].checksum }
        return sum
    }
}
