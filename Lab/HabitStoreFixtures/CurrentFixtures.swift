import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker

/// A small store without oddities: ninety days of a user who started this spring.
enum TidyFixture {
    static func make() throws -> FixtureContents {
        var contents = FixtureContents(description: "a small store without any oddity, with its whole history")
        var random = SeededGenerator(seed: 20_260_301)
        let calendar = try Calendars.gregorian("Europe/Berlin")
        let begin = Calendars.date(calendar, 2026, 3, 1, 7, 30)
        contents.tags = ["health", "mind", "home", "work"].map { Tag(id: random.identifier(), name: $0) }
        let plans: [(String, String?, Int, Int, String?, Double?, [Int])] = [
            ("Run", "sport", 3, 7, "km", 5, [0]), ("Read", "mind", 1, 1, "pages", 20, [1]),
            ("Meditate", "mind", 1, 1, "min", 10, [0, 1]), ("Water the plants", "home", 2, 7, nil, nil, [2]),
            ("Call mother", nil, 1, 7, nil, nil, []), ("Café-free day", "health", 5, 7, nil, nil, [0]),
            ("Inbox zero", "work", 5, 7, nil, nil, [3]), ("Piano", nil, 4, 7, "min", 30, [1]),
        ]
        for (name, category, times, period, unit, target, tags) in plans {
            contents.habits.append(
                Habit(
                    id: random.identifier(),
                    name: name,
                    createdAt: begin,
                    streak: random.number(below: 30),
                    category: category,
                    isArchived: name == "Piano",
                    timesPerPeriod: times,
                    periodDays: period,
                    unit: unit,
                    target: target,
                    tagIDs: Set(tags.map { contents.tags[$0].id })
                )
            )
        }
        contents.record(
            at: begin,
            author: "app",
            contents.tags.map { HistoryChange(entity: "Tag", id: $0.id, kind: .insert) }
                + contents.habits.map { HistoryChange(entity: "Habit", id: $0.id, kind: .insert) }
        )
        for day in 0..<90 { try addDay(day, &contents, &random, calendar, begin) }
        for index in 0..<3 {
            let draft = Draft(
                id: random.identifier(),
                content: ["Week in review", "Why I run", "Letter to mother"][index],
                creationDate: begin.addingTimeInterval(Double(index) * 86_400.125),
                attachments: index == 1 ? ["photo.jpg", "route.gpx"] : []
            )
            contents.drafts.append(draft)
            contents.record(
                at: draft.creationDate,
                author: "app",
                [HistoryChange(entity: "Draft", id: draft.id, kind: .insert)]
            )
        }
        return contents
    }

    private static func addDay(
        _ day: Int,
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ calendar: Calendar,
        _ begin: Date
    ) throws {
        let date = calendar.date(byAdding: .day, value: day, to: begin) ?? begin
        var changes: [HistoryChange] = []
        for habit in contents.habits where random.chance(habit.periodDays == 1 ? 85 : 45) {
            let entry = Entry(
                id: random.identifier(),
                date: date.addingTimeInterval(Double(random.number(below: 40_000)) / 4),
                note: random.chance(15) ? random.pick(["a bit late", "felt good", "in the rain", "with Anna"]) : nil,
                value: habit.unit == nil ? nil : Double(random.number(below: 200)) / 4,
                habitID: habit.id
            )
            contents.entries.append(entry)
            changes.append(HistoryChange(entity: "Entry", id: entry.id, kind: .insert))
        }
        if !changes.isEmpty { contents.record(at: date, author: "app", changes) }
    }
}

/// A store with every oddity: written over years by versions that did not normalize text, did not check references, and allowed duplicate tags.
enum LivedInFixture {
    static func make() throws -> FixtureContents {
        var contents = FixtureContents(
            description: "everything odd that a long-lived store has, carried across as it is"
        )
        contents.hasCanonicalText = false
        var random = SeededGenerator(seed: 19_690_720)
        let calendar = try Calendars.gregorian("Europe/Berlin")
        let begin = Calendars.date(calendar, 2019, 4, 1, 6, 45)
        addTags(&contents, &random)
        addHabits(&contents, &random, begin)
        addOrdinaryEntries(&contents, &random, begin)
        addOddEntries(&contents, &random, calendar)
        addDrafts(&contents, &random, begin)
        addHistory(&contents, begin)
        return contents
    }

    private static func addTags(_ contents: inout FixtureContents, _ random: inout SeededGenerator) {
        // "café" twice, once composed and once decomposed: Swift considers them equal, and names should be unique.
        for name in ["health", "Health", "café", "cafe\u{301}", "unused", "🏃🏽‍♀️", "صحة"] {
            contents.tags.append(Tag(id: random.identifier(), name: name))
        }
        contents.anomalies["duplicateUniqueValue"] = 1
        contents.anomalies["nonCanonicalText", default: 0] += 1
    }

    private static func addHabits(
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ begin: Date
    ) {
        let names = [
            "Run", "Run", "run", "RUN", "Run ", " Run", "Re\u{301}sume\u{301}", "Résumé", "Straße", "STRASSE",
            "👩‍👩‍👧‍👦 Family dinner", "🏳️‍🌈 Pride", "שתיית מים", "اقرأ كتابا", "قراءة Read", "数独", "한글 쓰기",
            "\u{1112}\u{1161}\u{11AB}글", "O'Brien; DROP TABLE Habit;--", "tab\there", "line\nbreak",
            "back\\slash \"quote\"",
            "", "percent % under_score", "ﬁne ligature", "Å Ångström \u{212B}", "İstanbul", "z", "Z", "~",
        ]
        for (index, name) in names.enumerated() {
            var tags: Set<UUID> = []
            for tag in contents.tags where tag.name != "unused" && random.chance(25) { tags.insert(tag.id) }
            contents.habits.append(
                Habit(
                    id: random.identifier(),
                    name: name,
                    createdAt: begin.addingTimeInterval(Double(index) * 86_399.999),
                    streak: [0, 1, 7, 7, 365, Int.max, Int.min, -1][index % 8],
                    category: [nil, "sport", "", "Sport", "spo\u{301}rt"][index % 5],
                    isArchived: index % 4 == 3,
                    timesPerPeriod: 1 + index % 3,
                    periodDays: [1, 7, 30][index % 3],
                    unit: index % 6 == 0 ? "km" : nil,
                    target: [nil, 0, 0.1, 1e300, .leastNonzeroMagnitude, -12.5][index % 6],
                    tagIDs: tags
                )
            )
        }
        // A link to a missing tag.
        contents.habits[4].tagIDs.insert(random.identifier())
        contents.anomalies["danglingReference", default: 0] += 1
        let nonCanonical = contents.habits.reduce(0) {
            $0 + ($1.name.isInNFC ? 0 : 1) + ($1.category?.isInNFC ?? true ? 0 : 1)
        }
        contents.anomalies["nonCanonicalText", default: 0] += nonCanonical
    }

    private static func addOrdinaryEntries(
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ begin: Date
    ) {
        for day in 0..<700 {
            for habit in contents.habits.prefix(12) where random.chance(22) {
                contents.entries.append(
                    Entry(
                        id: random.identifier(),
                        date: begin.addingTimeInterval(Double(day) * 86_400 + Double(random.number(below: 3_600))),
                        note: random.chance(20) ? random.pick(["late", "Café", "cafe\u{301} break", "très tôt"]) : nil,
                        value: random.chance(30) ? Double(random.number(below: 1_000)) / 10 : nil,
                        habitID: habit.id
                    )
                )
            }
        }
        contents.anomalies["nonCanonicalText", default: 0] +=
            contents.entries.filter { !($0.note?.isInNFC ?? true) }.count
    }

    private static func addOddEntries(
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ calendar: Calendar
    ) {
        let habit = contents.habits[0].id
        let noon = Calendars.date(calendar, 2021, 10, 31, 12)
        func add(_ date: Date, note: String? = nil, value: Double? = nil, habit: UUID?) {
            contents.entries.append(
                Entry(id: random.identifier(), date: date, note: note, value: value, habitID: habit)
            )
        }
        let gone = (0..<3).map { _ in random.identifier() }
        for index in 0..<9 {
            add(noon.addingTimeInterval(Double(index)), note: "its habit is gone", habit: gone[index % 3])
        }
        contents.anomalies["danglingReference", default: 0] += 9
        for index in 0..<6 { add(noon.addingTimeInterval(Double(index) * 60), note: "never had a habit", habit: nil) }
        add(noon, note: nil, habit: habit)
        add(noon, note: "", habit: habit)
        add(noon, note: String(repeating: "A long evening at the lake. ", count: 800), habit: habit)
        add(noon, note: String(repeating: "é", count: 600) + "1", habit: habit)
        add(noon, note: String(repeating: "é", count: 600) + "2", habit: habit)
        // 2:30 occurred twice that night.
        let night = Calendars.date(calendar, 2021, 10, 31, 2, 30)
        add(night, note: "first half past two", habit: habit)
        add(night.addingTimeInterval(3_600), note: "second half past two", habit: habit)
        add(Date(timeIntervalSince1970: -86_400 * 365.25 * 20), note: "in 1950", habit: habit)
        add(Date(timeIntervalSince1970: -0.001), note: "just before 1970", habit: habit)
        add(Date.distantFuture, note: "year 4001", habit: habit)
        add(Date(timeIntervalSinceReferenceDate: 0), note: "the reference date", habit: habit)
        add(Date(timeIntervalSinceReferenceDate: 0.1 + 0.2), note: "no whole millisecond", habit: habit)
        add(Date(timeIntervalSinceReferenceDate: 316_000_000_000), note: "year 12014", habit: habit)
        contents.anomalies["oddDate"] = 1
        add(noon, note: "null character \0 inside", value: .leastNonzeroMagnitude, habit: habit)
        add(noon, note: "\u{202E}right to left override", value: .greatestFiniteMagnitude, habit: habit)
    }

    private static func addDrafts(
        _ contents: inout FixtureContents,
        _ random: inout SeededGenerator,
        _ begin: Date
    ) {
        let attachments: [[String]] = [[], [""], ["photo.jpg", "photo.jpg"], ["b", "a"], ["a,b", "c|d"], ["🎧.m4a"]]
        for (index, names) in attachments.enumerated() {
            contents.drafts.append(
                Draft(
                    id: random.identifier(),
                    content: ["", "a", "Two\nlines", "日本語", "📝", String(repeating: "x", count: 5_000)][index],
                    creationDate: begin.addingTimeInterval(-Double(index) * 0.5),
                    attachments: names
                )
            )
        }
    }

    private static func addHistory(_ contents: inout FixtureContents, _ begin: Date) {
        contents.token = 5_000
        contents.floor = 4_990
        for index in 0..<10 {
            let entry = contents.entries[index * 3]
            let kind: HistoryChange.Kind
            switch index % 3 {
            case 0: kind = .insert
            case 1: kind = .update(updatedAttributes: ["note", "value"])
            default:
                kind = .delete(tombstone: [
                    "date": .date(entry.date), "habitID": entry.habitID.map { .uuid($0) } ?? .null,
                ])
            }
            let id = index % 3 == 2 ? contents.tags[0].id : entry.id
            contents.history.append(
                HistoryTransaction(
                    token: HistoryToken(rawValue: contents.floor + 1 + Int64(index)),
                    timestamp: begin.addingTimeInterval(Double(index)),
                    author: index == 0 ? nil : "app",
                    changes: [HistoryChange(entity: "Entry", id: id, kind: kind)]
                )
            )
        }
    }
}

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
