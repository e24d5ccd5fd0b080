import Foundation
import HabitStore
import HabitTracker

/// The records to write and query: a fixed set of identifiers, some of which exist.
enum SoakRecords {
    static let habits = 24
    static let entries = 160
    static let tags = 12
    static let drafts = 24

    private static let words = [
        "Run", "Read", "Café", "late", "photo.jpg", "a note", "", "spórt", "Étude", "stretch, then rest", "🏃‍♀️", "x",
    ]

    static func id(_ kind: UInt8, _ number: Int) -> UUID {
        UUID(
            uuid: (
                0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number >> 8),
                UInt8(truncatingIfNeeded: number)
            )
        )
    }

    static func habit(_ number: Int, _ random: inout some RandomNumberGenerator) -> Habit {
        Habit(
            id: id(1, number),
            name: word(&random),
            createdAt: date(&random),
            streak: .random(in: 0...400, using: &random),
            category: Bool.random(using: &random) ? nil : word(&random),
            isArchived: .random(using: &random),
            timesPerPeriod: .random(in: 1...3, using: &random),
            periodDays: .random(in: 1...7, using: &random),
            unit: Bool.random(using: &random) ? nil : "km",
            target: Bool.random(using: &random) ? nil : .random(in: 0...2, using: &random),
            tagIDs: []
        )
    }

    static func entry(_ number: Int, _ random: inout some RandomNumberGenerator) -> Entry {
        Entry(
            id: id(2, number),
            date: date(&random),
            note: Bool.random(using: &random) ? nil : word(&random) + " " + word(&random),
            value: Bool.random(using: &random) ? nil : .random(in: -10...120, using: &random),
            habitID: Int.random(in: 0..<10, using: &random) == 0
                ? nil : id(1, .random(in: 0..<habits, using: &random))
        )
    }

    static func tag(_ number: Int, _ random: inout some RandomNumberGenerator) -> Tag {
        Tag(id: id(3, number), name: "\(word(&random)) \(number)")
    }

    static func draft(_ number: Int, _ random: inout some RandomNumberGenerator) -> Draft {
        Draft(
            id: id(4, number),
            content: word(&random),
            creationDate: date(&random),
            attachments: (0..<Int.random(in: 0...3, using: &random)).map { _ in word(&random) }
        )
    }

    private static func word(_ random: inout some RandomNumberGenerator) -> String {
        words.randomElement(using: &random) ?? ""
    }

    private static func date(_ random: inout some RandomNumberGenerator) -> Date {
        Date(timeIntervalSinceReferenceDate: .random(in: -2e9...2e9, using: &random))
    }
}
