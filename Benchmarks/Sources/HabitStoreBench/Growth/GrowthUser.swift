import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// One user's records, generated from their numbers to save memory: 200 habits, and an entry for each of them every hour. Identifiers are random
/// bytes;
/// three entries in ten have a note.
enum GrowthUser {
    static let habits = 200
    private static let secondsApart = 3_600.0

    static func habit(_ number: Int) -> Habit { Habit(id: identifier(number, 1), name: "Habit \(number)") }

    static func entry(_ number: Int) -> Entry {
        var random = SeededGenerator(seed: UInt64(number))
        return Entry(
            id: identifier(number, 2),
            date: date(number / habits),
            note: random.next() % 10 < 3 ? "hour \(number / habits), fine all along" : nil,
            value: Double(random.next() % 1_000) / 8,
            habitID: identifier(number % habits, 1)
        )
    }

    static func identifier(ofEntry number: Int) -> UUID { identifier(number, 2) }
    static func identifier(ofHabit number: Int) -> UUID { identifier(number, 1) }

    static func date(_ hour: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(hour) * secondsApart) }

    private static func identifier(_ number: Int, _ kind: UInt64) -> UUID {
        var random = SeededGenerator(seed: UInt64(number) &* 4 &+ kind)
        var id = UUID().uuid
        withUnsafeMutableBytes(of: &id) { bytes in
            bytes.storeBytes(of: random.next(), as: UInt64.self)
            bytes.storeBytes(of: random.next(), toByteOffset: 8, as: UInt64.self)
        }
        return UUID(uuid: id)
    }
}
