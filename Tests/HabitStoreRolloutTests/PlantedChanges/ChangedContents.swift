import Foundation
import HabitStore
import HabitTracker

/// The records in which changes are planted: few, with every kind of value, in a history of seven transactions, the first of which is pruned.
enum ChangedContents {
    static let (home, health, zeal) = (SampleRecords.id(1), SampleRecords.id(2), SampleRecords.id(3))
    static let (run, cafe, read) = (SampleRecords.id(11), SampleRecords.id(12), SampleRecords.id(13))
    static let (firstEntry, lastEntry) = (SampleRecords.id(101), SampleRecords.id(112))
    static let (album, note) = (SampleRecords.id(31), SampleRecords.id(32))
    /// An identifier that no record has.
    static let nobody = SampleRecords.id(999)

    static func date(_ days: Double) -> Date { Date(timeIntervalSinceReferenceDate: 700_000_000.25 + days * 86_400) }

    static let tags = [Tag(id: home, name: "home"), Tag(id: health, name: "health"), Tag(id: zeal, name: "zeal")]

    static let habits = [
        Habit(
            id: run,
            name: "Run",
            createdAt: date(-40),
            streak: 7,
            category: "sport",
            timesPerPeriod: 3,
            periodDays: 7,
            unit: "km",
            target: 5,
            tagIDs: [home, health]
        ),
        Habit(id: cafe, name: "Café-free day", createdAt: date(-30), streak: 2, tagIDs: [health]),
        Habit(id: read, name: "Read", createdAt: date(-20), isArchived: true),
    ]

    static let entries: [Entry] = (0..<12).map(entry)

    private static func entry(_ number: Int) -> Entry {
        let habit: UUID? = number == 7 ? nil : (number.isMultiple(of: 2) ? run : cafe)
        let value: Double? = number.isMultiple(of: 2) ? nil : Double(number) / 8
        return Entry(
            id: SampleRecords.id(101 + number),
            date: date(Double(number) + 0.5),
            note: number.isMultiple(of: 3) ? nil : "note \(number)",
            value: number == 0 ? 1.5 : value,
            habitID: habit
        )
    }

    static let drafts = [
        Draft(id: album, content: "Trip", creationDate: date(3), attachments: ["photo.jpg", "route.gpx"]),
        Draft(id: note, content: "Idea", creationDate: date(4), attachments: []),
    ]

    /// The tokens of the transactions: a pruned one, the import, the entries, an update, a deletion and the drafts.
    enum Token {
        static let (pruned, records, entries, update, deletion, drafts) = (1, 2, 3, 4, 5, 6)
    }

    /// The entry that the history inserts and deletes.
    static let gone = Entry(id: SampleRecords.id(150), date: date(77.5), note: "no more", habitID: run)

    static func write(to store: any HabitStore) throws {
        try store.write(author: "import") { try $0.insert(Tag(id: SampleRecords.id(9), name: "gone")) }
        try store.write(author: "import") { transaction in
            for tag in tags { try transaction.insert(tag) }
            for habit in habits { try transaction.insert(habit) }
        }
        try store.write(author: "app") { transaction in
            for entry in entries { try transaction.insert(entry) }
            try transaction.insert(gone)
        }
        try store.write(author: "app") { transaction in
            var entry = entries[3]
            (entry.note, entry.value) = ("changed", 8)
            try transaction.save(entry)
        }
        try store.write(author: "app") { try $0.delete(gone) }
        try store.write(author: nil) { transaction in for draft in drafts { try transaction.insert(draft) } }
    }
}

extension UUID {
    /// The 16 bytes.
    var rawBytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    /// As an SQL literal.
    var sql: String { "x'\(uuidString.replacingOccurrences(of: "-", with: ""))'" }
}
