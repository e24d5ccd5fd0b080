import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker

/// A user's habits as the first two versions stored them, with everything that people type between commas.
enum PastFixture {
    /// The tags, each with `uuid5(8B4DA670-5DDE-5F9E-8E05-BFD1B8ABAF53, name)`, computed in Python.
    private static let tags: [(name: String, id: String)] = [
        ("health", "C4FD1552-71D6-5488-9806-94CCCD3384F3"), ("Health", "8447219A-4C1F-5662-80D7-777E94D7A57E"),
        ("outdoors", "A52B60B8-EF89-5E91-9723-26E4448DE639"), ("\u{e9}t\u{e9}", "79AB4CD1-C616-5B59-ADA9-8E7A530102C0"),
        ("🏃🏽‍♀️", "9B9D6A52-5060-5768-B010-5A228BD5CB4C"), ("line\nbreak", "3924081A-4593-5202-8DEA-0264F694EFF5"),
        (String(repeating: "x", count: 600), "2309ADE3-7A55-5081-BB5C-FED85AB69CF3"),
        ("صحة", "924FD532-B371-5B30-A06C-F4EA9391246D"), ("0", "666219F8-1BDE-5532-8FCF-2EC1B3220081"),
        ("O'Brien; --", "4984CD83-463E-5560-92BE-C6D458916195"),
    ]

    /// Each habit's name, the text of its tags, and the tags in it.
    private static let habits: [(name: String, tags: String, which: [Int])] = [
        ("Run", "health,outdoors", [0, 2]), ("Run", "outdoors,health", [0, 2]), ("run", "", []), ("Read", " ", []),
        ("Swim", ",,, ,", []), ("Walk", " health ,\thealth\n,health", [0]), ("Row", "Health,health", [0, 1]),
        ("Re\u{301}sume\u{301}", "e\u{301}t\u{e9},\u{e9}te\u{301}", [3]), ("", "🏃🏽‍♀️ , صحة", [4, 7]),
        ("Dance", "line\nbreak", [5]), ("Sing", String(repeating: "x", count: 600) + ",0", [6, 8]),
        ("O'Brien; DROP TABLE Habit;--", "O'Brien; --,", [9]),
        ("All", "0,health,Health,outdoors,\u{e9}t\u{e9},🏃🏽‍♀️,line\nbreak,صحة,O'Brien; --", [0, 1, 2, 3, 4, 5, 7, 8, 9]),
        ("Often", String(repeating: "health,", count: 200), [0]),
    ]

    /// - Parameter version: 1 or 2; in version 2 habits have categories.
    static func make(version: Int) throws -> PastContents {
        var random = SeededGenerator(seed: UInt64(20_170_400 + version))
        let calendar = try Calendars.gregorian("Europe/Berlin")
        let begin = Calendars.date(calendar, 2017, 4, 1, 6, 45)
        var contents = FixtureContents(
            description: "a store of schema version \(version).0.0, whose tags are texts; it is migrated first"
        )
        contents.hasCanonicalText = false
        contents.tags = tags.compactMap { tag in UUID(uuidString: tag.id).map { Tag(id: $0, name: tag.name) } }
        var past = PastContents(version: version, migrated: contents)
        addHabits(&past, &random, begin)
        addEntries(&past.migrated, &random, begin)
        addHistory(&past.migrated, begin)
        return past
    }

    private static func addHabits(_ past: inout PastContents, _ random: inout SeededGenerator, _ begin: Date) {
        for (index, plan) in habits.enumerated() {
            let habit = Habit(
                id: random.identifier(),
                name: plan.name.normalizedToNFC(),
                createdAt: begin.addingTimeInterval(Double(index) * 86_399.999),
                streak: [0, 1, 7, 365, Int.max, Int.min, -1][index % 7],
                category: past.version == 1 ? nil : [nil, "sport", "", "Sport", "sp\u{f3}rt"][index % 5],
                tagIDs: Set(plan.which.map { past.migrated.tags[$0].id })
            )
            past.migrated.habits.append(habit)
            past.tagTexts[habit.id] = plan.tags
            if plan.name.unicodeScalars.count != habit.name.unicodeScalars.count { past.rawNames[habit.id] = plan.name }
        }
    }

    private static func addEntries(_ contents: inout FixtureContents, _ random: inout SeededGenerator, _ begin: Date) {
        for day in 0..<120 {
            for habit in contents.habits where random.chance(12) {
                contents.entries.append(
                    Entry(
                        id: random.identifier(),
                        date: begin.addingTimeInterval(Double(day) * 86_400 + Double(random.number(below: 40_000)) / 8),
                        note: random.chance(30) ? random.pick(["late", "", "très tôt", "null \0 inside"]) : nil,
                        value: random.chance(30) ? Double(random.number(below: 1_000)) / 10 : nil,
                        habitID: habit.id
                    )
                )
            }
        }
        let gone = random.identifier()
        for (place, habit) in [gone, gone, nil, nil].enumerated() {
            contents.entries.append(
                Entry(
                    id: random.identifier(),
                    date: begin.addingTimeInterval(0.1 + Double(place)),
                    note: "without its habit",
                    habitID: habit
                )
            )
        }
        contents.anomalies["danglingReference"] = 2
        contents.entries.append(
            Entry(
                id: random.identifier(),
                date: Date(timeIntervalSinceReferenceDate: 316_000_000_000),
                note: "year 12014",
                value: .leastNonzeroMagnitude,
                habitID: contents.habits[0].id
            )
        )
        contents.anomalies["oddDate"] = 1
    }

    /// A pruned history that includes a deletion; the migration of the tags will be the next transaction.
    private static func addHistory(_ contents: inout FixtureContents, _ begin: Date) {
        contents.floor = 700
        contents.token = 710
        for place in 0..<10 {
            let entry = contents.entries[place * 5]
            let kinds: [HistoryChange.Kind] = [
                .insert, .update(updatedAttributes: ["note", "value"]),
                .delete(tombstone: ["date": .date(entry.date), "habitID": entry.habitID.map { .uuid($0) } ?? .null]),
            ]
            contents.history.append(
                HistoryTransaction(
                    token: HistoryToken(rawValue: contents.floor + 1 + Int64(place)),
                    timestamp: begin.addingTimeInterval(Double(place)),
                    author: place == 0 ? nil : "app",
                    changes: [
                        HistoryChange(
                            entity: "Entry",
                            id: place % 3 == 2 ? contents.tags[0].id : entry.id,
                            kind: kinds[place % 3]
                        )
                    ]
                )
            )
        }
    }
}
