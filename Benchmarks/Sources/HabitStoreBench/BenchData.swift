import CYardstick
import Foundation
import HabitStore
import HabitStoreSQLite

/// The heavy fixture in the forms that both sides need, and the questions that both are asked.
final class BenchData {
    let habits: [Habit]
    let tags: [Tag]
    let entries: [Entry]
    /// Identifiers in random order, each once.
    let shuffled: [UUID]
    let ranges: [(habit: UUID, from: Date, to: Date)]
    /// The date of the first entry.
    let firstDate: Date

    private let notes: [[CChar]]

    convenience init(fixture path: String) throws {
        let aside = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-bench-\(UUID())")
        try FileManager.default.createDirectory(at: aside, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: aside) }
        let copy = aside.appendingPathComponent("heavy.sqlite")
        try FileManager.default.copyItem(atPath: path, toPath: copy.path)
        let store = try SQLiteHabitStore(path: copy.path)
        defer { store.close() }
        self.init(
            habits: try store.all(Habit.self),
            tags: try store.all(Tag.self),
            entries: try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Entry.date)]))
        )
    }

    /// Habits with as many entries each as there are days, of which every third has a note.
    convenience init(habits: Int, entriesEach days: Int) {
        var random = BenchRandom(state: 7)
        func identifier() -> UUID {
            var id = UUID().uuid
            withUnsafeMutableBytes(of: &id) { bytes in
                for place in bytes.indices { bytes[place] = UInt8(truncatingIfNeeded: random.next() >> 24) }
            }
            return UUID(uuid: id)
        }
        let made = (0..<habits).map { Habit(id: identifier(), name: "Habit \($0)", streak: $0) }
        let entries = (0..<days).flatMap { day in
            made.map { habit in
                Entry(
                    id: identifier(),
                    date: Date(timeIntervalSinceReferenceDate: Double(day) * 86_400 + Double(random.next() % 86_400)),
                    note: day.isMultiple(of: 3) ? "day \(day) of \(habit.name), as it went" : nil,
                    value: Double(random.next() % 1_000) / 8,
                    habitID: habit.id
                )
            }
        }
        self.init(habits: made, tags: [], entries: entries.sorted { $0.date < $1.date })
    }

    private init(habits: [Habit], tags: [Tag], entries: [Entry]) {
        (self.habits, self.tags, self.entries) = (habits, tags, entries)
        var random = BenchRandom(state: 42)
        shuffled = entries.map(\.id).shuffled(using: &random)
        notes = entries.map { ($0.note ?? "").utf8.map { CChar(bitPattern: $0) } }
        let dates = (entries.first?.date ?? Date(), entries.last?.date ?? Date())
        firstDate = dates.0
        let span = dates.1.timeIntervalSince(dates.0)
        let identifiers = habits.map(\.id)
        ranges = (0..<2_000).map { index in
            let from = dates.0.addingTimeInterval(Double(random.next() % 10_000) / 10_000 * span)
            return (identifiers[index % identifiers.count], from, from.addingTimeInterval(330 * 86_400))
        }
    }

    /// Lends the entries as C structs.
    func withCEntries<R>(_ body: (UnsafePointer<cy_entry>, Int) throws -> R) rethrows -> R {
        var structs: [cy_entry] = []
        structs.reserveCapacity(entries.count)
        for (index, entry) in entries.enumerated() {
            var made = cy_entry()
            withUnsafeMutableBytes(of: &made.id) { $0.storeBytes(of: entry.id.uuid, as: uuid_t.self) }
            made.date = entry.date.timeIntervalSinceReferenceDate
            made.value = entry.value ?? 0
            made.hasValue = entry.value == nil ? 0 : 1
            made.noteLength = entry.note == nil ? -1 : Int32(notes[index].count)
            made.note = notes[index].withUnsafeBufferPointer { $0.baseAddress }
            if let habit = entry.habitID {
                made.hasHabit = 1
                withUnsafeMutableBytes(of: &made.habit) { $0.storeBytes(of: habit.uuid, as: uuid_t.self) }
            }
            structs.append(made)
        }
        // The notes' arrays live as long as `self`, and so do the pointers into them.
        return try withExtendedLifetime(self) {
            try structs.withUnsafeBufferPointer { buffer in
                guard let base = buffer.baseAddress else { throw BenchError("the fixture has no entries") }
                return try body(base, buffer.count)
            }
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

/// SplitMix64.
struct BenchRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Something that makes the whole measurement worthless.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Entry {
    /// The same sum over all fields as the yardstick's.
    var checksum: UInt64 {
        let length = UInt64(bitPattern: Int64(note.map { $0.utf8.count } ?? -1))
        var sum = date.timeIntervalSinceReferenceDate.bitPattern &+ length &* 17 &+ UInt64(id.uuid.0)
        if let value { sum &+= value.bitPattern &* 31 }
        if let habitID { sum &+= UInt64(habitID.uuid.15) }
        return sum
    }
}

extension [Entry] {
    /// The sum over all of them, read where they lie.
    var checksum: UInt64 {
        var sum: UInt64 = 0
        for index in indices { sum &+= self[index].checksum }
        return sum
    }
}
