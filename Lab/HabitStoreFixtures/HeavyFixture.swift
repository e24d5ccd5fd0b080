import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker

/// Six years of a very busy user: 300 habits, 60,000 entries, in Berlin until a move to New York, through twelve changes to and from summer time.
/// Only
/// the last transactions of the history remain.
enum HeavyFixture {
    private static let habitCount = 300
    private static let entryCount = 60_000
    private static let tagCount = 40
    private static let keptTransactions = 200

    static func make() throws -> FixtureContents {
        var contents = FixtureContents(
            description: "six years, 300 habits, 60,000 entries, two time zones; the history is pruned"
        )
        var random = SeededGenerator(seed: 20_200_105)
        let berlin = try Calendars.gregorian("Europe/Berlin")
        let newYork = try Calendars.gregorian("America/New_York")
        let begin = Calendars.date(berlin, 2020, 1, 5)
        let move = Calendars.date(newYork, 2023, 6, 17)
        contents.tags = (0..<tagCount).map { Tag(id: random.identifier(), name: "tag \($0)") }
        let words = ["Run", "Read", "Stretch", "Write", "Cook", "Learn", "Walk", "Practise", "Clean", "Plan"]
        for index in 0..<habitCount {
            contents.habits.append(
                Habit(
                    id: random.identifier(),
                    name: "\(random.pick(words)) \(index + 1)",
                    createdAt: begin.addingTimeInterval(Double(index) * 500_000),
                    streak: random.number(below: 400),
                    category: random.chance(20) ? nil : random.pick(["sport", "mind", "home", "work", "music"]),
                    isArchived: random.chance(25),
                    timesPerPeriod: 1 + random.number(below: 5),
                    periodDays: random.pick([1, 1, 7, 30]),
                    unit: random.chance(40) ? random.pick(["km", "min", "pages"]) : nil,
                    target: random.chance(30) ? Double(random.number(below: 400)) / 8 : nil,
                    tagIDs: Set((0..<random.number(below: 4)).map { _ in random.pick(contents.tags).id })
                )
            )
        }
        let days = 2_190
        for index in 0..<entryCount {
            let habit = contents.habits[(index * 7 + random.number(below: 40)) % habitCount]
            let day = index * days / entryCount
            let calendar = begin.addingTimeInterval(Double(day) * 86_400) < move ? berlin : newYork
            let midnight = calendar.date(byAdding: .day, value: day, to: begin) ?? begin
            contents.entries.append(
                Entry(
                    id: random.identifier(),
                    date: midnight.addingTimeInterval(Double(random.number(below: 86_400_000)) / 1_000),
                    note: note(&random, index),
                    value: habit.unit == nil ? nil : Double(random.number(below: 8_000)) / 64,
                    habitID: habit.id
                )
            )
        }
        contents.drafts = (0..<25).map { index in
            Draft(
                id: random.identifier(),
                content: "Draft \(index)",
                creationDate: begin.addingTimeInterval(Double(index) * 1_000_000.5),
                attachments: (0..<(index % 3)).map { "file\($0).pdf" }
            )
        }
        writeHistory(&contents)
        return contents
    }

    private static func note(_ random: inout SeededGenerator, _ index: Int) -> String? {
        guard random.chance(30) else { return nil }
        return random.pick(["late", "in the rain", "felt great", "with friends", "too short", "new record"])
            + " \(index)"
    }

    /// One transaction per entry, of which the last ones remain.
    private static func writeHistory(_ contents: inout FixtureContents) {
        contents.token = 1 + Int64(entryCount)
        contents.floor = contents.token - Int64(keptTransactions)
        contents.history = contents.entries.suffix(keptTransactions).enumerated().map { index, entry in
            HistoryTransaction(
                token: HistoryToken(rawValue: contents.floor + 1 + Int64(index)),
                timestamp: entry.date,
                author: index % 5 == 0 ? "widget" : "app",
                changes: [HistoryChange(entity: "Entry", id: entry.id, kind: .insert)]
            )
        }
    }
}
