import Foundation
import HabitTracker

@testable import HabitStore

/// The records in which faults are planted: 12 habits, 400 entries, tags and drafts, the same in each run, with every value that a fault needs.
struct PlantedContents: Sendable {
    private static let beginning = 700_000_000.25

    /// A text with several Unicode forms, and more than one byte per character.
    static let remark = "Ünïcödé bei Regen 🌧️, später am Café"

    let tags: [Tag]
    let habits: [Habit]
    let entries: [Entry]
    let drafts: [Draft]
    /// Deleted records; their tombstones are in the history.
    let deletedEntry: Entry
    let deletedTag: Tag
    /// Earlier versions of updated records.
    let earlierHabit: Habit
    let earlierEntry: Entry

    init() {
        tags = zip(1..., ["health", "sport", "tag 7", "zeal"]).map { Tag(id: SampleRecords.id($0), name: $1) }
        deletedTag = Tag(id: SampleRecords.id(9), name: "gone")
        habits = Self.habits()
        entries = (0..<400).map(Self.entry)
        deletedEntry = Entry(id: SampleRecords.id(1_500), date: Self.date(77.5), note: "no more", habitID: habits[0].id)
        drafts = Self.drafts()
        var habit = habits[8]
        habit.streak = 3
        habit.category = "music"
        earlierHabit = habit
        var entry = entries[120]
        entry.note = "as it was first"
        entry.value = 0.5
        earlierEntry = entry
    }

    static func date(_ days: Double) -> Date { Date(timeIntervalSinceReferenceDate: beginning + days * 86_400) }

    private static func habits() -> [Habit] {
        let names = [
            "Run", "Read", "Café", "Meditate", "Ångström walk", "Stretch", "Swim", "Row", "Rest", "Piano", "Sketch",
            "Water",
        ]
        var habits = names.enumerated().map { number, name in
            Habit(
                id: SampleRecords.id(11 + number),
                name: name,
                createdAt: date(Double(number) - 400),
                streak: 7 * number,
                category: number.isMultiple(of: 3) ? nil : (number.isMultiple(of: 2) ? "sport" : "music"),
                isArchived: number == 3 || number == 10,
                timesPerPeriod: 1 + number % 3,
                periodDays: number.isMultiple(of: 4) ? 7 : 1,
                unit: number.isMultiple(of: 5) ? "km" : nil,
                target: number.isMultiple(of: 5) ? 2.5 + Double(number) : nil,
                tagIDs: Set((0..<number % 4).map { SampleRecords.id(1 + $0) })
            )
        }
        // A double cannot represent the difference between the largest integer and the one before it.
        habits[1].streak = Int.max
        (habits[2].category, habits[2].unit) = ("a|b", "c")
        (habits[5].category, habits[5].unit) = ("", "")
        habits[6].target = 0
        // The last second of a year with four digits.
        habits[7].createdAt = Date(timeIntervalSinceReferenceDate: 252_423_993_599)
        (habits[8].streak, habits[8].category) = (56, "sport")
        return habits
    }

    private static func entry(_ number: Int) -> Entry {
        let notes = [nil, "late again", "", "café au lait", nil, "note \(number)", remark, "first line\nsecond line"]
        let value: Double? =
            switch number % 12 {
            case 0, 3, 6, 9: nil
            case 5: 0
            default: Double(number) / 8 + 0.1
            }
        return Entry(
            id: SampleRecords.id(1_000 + number),
            date: date(Double(number) * 0.625),
            note: notes[number % notes.count],
            value: value,
            habitID: number % 50 == 49 ? nil : SampleRecords.id(11 + number % 12)
        )
    }

    private static func drafts() -> [Draft] {
        let attachments = [
            ["photo.jpg", "b.png"], [], [""], ["ab"], ["a,b", "c"], ["photo.jpg", "photo.jpg", "café.png"],
        ]
        return attachments.enumerated().map { number, names in
            Draft(
                id: SampleRecords.id(31 + number),
                content: "draft \(number)",
                creationDate: date(Double(number)),
                attachments: names
            )
        }
    }

    /// Writes everything into an empty store, with updates and deletions on the way.
    func write(to store: any HabitStore) throws {
        try store.write(author: "import") { transaction in
            for tag in tags + [deletedTag] { try transaction.insert(tag) }
            for habit in habits { try transaction.insert(habit.id == earlierHabit.id ? earlierHabit : habit) }
        }
        for start in stride(from: 0, to: entries.count, by: 80) {
            try store.write(author: "app") { transaction in
                for entry in entries[start..<min(entries.count, start + 80)] {
                    try transaction.insert(entry.id == earlierEntry.id ? earlierEntry : entry)
                }
            }
        }
        try store.write(author: nil) { transaction in
            for draft in drafts.dropLast() { try transaction.insert(draft) }
            try transaction.insert(deletedEntry)
        }
        try store.write(author: "app") { transaction in
            try transaction.save(habits[8])
            try transaction.save(entries[120])
        }
        try store.write(author: "app") { transaction in
            try transaction.delete(deletedEntry)
            try transaction.delete(deletedTag)
        }
        try store.write(author: "app") { try $0.insert(drafts[drafts.count - 1]) }
    }
}

extension PersistentModel {
    /// The record's values, in the order of the declaration.
    var values: [Value] {
        get throws { try Self.entity.attributes.map { try $0.extract(self) } }
    }
}
