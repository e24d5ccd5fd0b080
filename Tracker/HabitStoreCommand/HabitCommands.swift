import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore habit`.
struct HabitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habit",
        abstract: "Adds, lists and changes habits.",
        subcommands: [
            HabitAddCommand.self, HabitListCommand.self, HabitShowCommand.self, HabitEditCommand.self,
            HabitArchiveCommand.self, HabitDeleteCommand.self,
        ]
    )
}

/// `habitstore habit add NAME`.
struct HabitAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a habit.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name.")
    var name: String

    @Option(help: "The category, a name of your choice.")
    var category: String?

    @Option(parsing: .unconditional, help: "How often to do it in each period.")
    var times = 1

    @Option(parsing: .unconditional, help: "The length of a period in days.")
    var period = 1

    @Option(help: "The unit of its entries' values, such as km.")
    var unit: String?

    @Option(parsing: .unconditional, help: "The value to reach in a period.")
    var target: Double?

    @Option(
        name: [.customLong("tag"), .customLong("tags")],
        help: "A tag, created if it is missing. May be repeated."
    )
    var tags: [String] = []

    @Flag(help: "Allow the name of another habit; both are then addressed by their ids.")
    var sameName = false

    func validate() throws { try HabitRules.check(name: name, times: times, period: period, target: target) }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording, mayBegin: true)
        defer { tracker.close() }
        var habit = Habit(
            name: name,
            createdAt: tracker.now,
            category: category,
            timesPerPeriod: times,
            periodDays: period,
            unit: unit,
            target: target
        )
        let summary = try tracker.write { transaction in
            if !sameName { try transaction.requireNewName(name) }
            habit.tagIDs = try transaction.tagIDs(named: tags)
            try transaction.insert(habit)
            return try transaction.summary(habit, tracker)
        }
        try output.write(["habit": summary.json]) {
            "added \(RecordReference.short(habit.id)) \(TerminalText.escaped(habit.name)), \(habit.schedule)\n"
        }
    }
}

/// `habitstore habit edit HABIT`.
struct HabitEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes a habit.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(help: "A new name.")
    var name: String?

    @Option(help: "A new category; empty for none.")
    var category: String?

    @Option(parsing: .unconditional, help: "How often to do it in each period.")
    var times: Int?

    @Option(parsing: .unconditional, help: "The length of a period in days.")
    var period: Int?

    @Option(help: "A new unit; empty for none.")
    var unit: String?

    @Option(parsing: .unconditional, help: "A new value to reach in a period.")
    var target: Double?

    @Flag(help: "Remove the target.")
    var noTarget = false

    @Option(name: [.customLong("tag"), .customLong("add-tag")], help: "A tag to add. May be repeated.")
    var tags: [String] = []

    @Option(name: [.customLong("untag"), .customLong("remove-tag")], help: "A tag to remove. May be repeated.")
    var untags: [String] = []

    @Flag(help: "Allow the name of another habit; both are then addressed by their ids.")
    var sameName = false

    func validate() throws {
        try HabitRules.check(name: name, times: times, period: period, target: target)
        guard target == nil || !noTarget else { throw ValidationError("--target and --no-target exclude each other") }
        let changes: [Any?] = [name, category, times, period, unit, target]
        guard changes.contains(where: { $0 != nil }) || noTarget || !tags.isEmpty || !untags.isEmpty else {
            throw ValidationError("nothing to change; give a new value with one of the options")
        }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let summary = try tracker.write { transaction in
            var edited = try transaction.habit(habit)
            if let name, !sameName { try transaction.requireNewName(name, for: edited.id) }
            apply(to: &edited)
            edited.tagIDs.formUnion(try transaction.tagIDs(named: tags))
            for tag in untags { edited.tagIDs.remove(try transaction.tag(tag).id) }
            try transaction.save(edited)
            edited.streak = try transaction.updateStreak(of: edited, tracker).longest
            return try transaction.summary(edited, tracker)
        }
        try output.write(["habit": summary.json]) {
            let habit = summary.habit
            return "changed \(RecordReference.short(habit.id)) \(TerminalText.escaped(habit.name))\n"
        }
    }

    private func apply(to habit: inout Habit) {
        if let name { habit.name = name }
        if let category { habit.category = category.isEmpty ? nil : category }
        if let times { habit.timesPerPeriod = times }
        if let period { habit.periodDays = period }
        if let unit { habit.unit = unit.isEmpty ? nil : unit }
        if let target { habit.target = target }
        if noTarget { habit.target = nil }
    }
}

/// `habitstore habit list`.
struct HabitListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists habits with their streaks, by name."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Flag(help: "List archived habits instead.")
    var archived = false

    @Option(help: "Only habits of this category.")
    var category: String?

    @Option(help: "Only habits with this tag, by name or id.")
    var tag: String?

    func run() async throws {
        var tagID: UUID?
        try await watching.show(userOptions, recording) { try answer($0, &tagID) }
    }

    /// - Parameter tagID: the tag found by the first answer; set if it is nil.
    private func answer(_ tracker: Tracker, _ tagID: inout UUID?) throws -> Answer {
        let summaries = try tracker.read { transaction -> [HabitSummary] in
            var conditions: [FilterExpression] = [
                .compare(.equal, .attribute(AttributePath("isArchived")), .literal(.bool(archived)))
            ]
            if let category {
                conditions.append(
                    .compare(.equal, .attribute(AttributePath("category")), .literal(.string(category)))
                )
            }
            if let tag {
                guard let id = try transaction.tagID(tag, knownBy: &tagID) else { return [] }
                conditions.append(.text(.contains, .attribute(AttributePath("tagIDs")), .literal(.uuid(id))))
            }
            let habits = try transaction.fetch(
                FetchDescriptor<Habit>(filter: .all(conditions), sortBy: [SortDescriptor(\.name)])
            )
            return try transaction.summaries(habits, tracker)
        }
        return output.answer(["habits": summaries.map(\.json)]) { text(summaries, tracker) }
    }

    private func text(_ summaries: [HabitSummary], _ tracker: Tracker) -> String {
        guard !summaries.isEmpty else {
            return archived
                ? "no archived habits\n" : "no habits yet; add one with `habitstore habit add NAME`\n"
        }
        var table = TextTable([
            .init("id", canShrink: false), .init("habit"), .init("schedule"), .init("current", alignment: .right),
            .init("longest", alignment: .right), .init("entries", alignment: .right), .init("last"), .init("category"),
            .init("tags"),
        ])
        for summary in summaries {
            table.append([
                RecordReference.short(summary.habit.id),
                summary.habit.name,
                summary.habit.schedule.description,
                summary.streaks.unit.phrase(summary.streaks.current),
                summary.streaks.unit.phrase(summary.streaks.longest),
                String(summary.entryCount),
                summary.lastEntry.map { tracker.shown($0) } ?? "",
                summary.habit.category ?? "",
                summary.tags.map(\.name).sorted().joined(separator: ", "),
            ])
        }
        return table.text(Terminal.options())
    }
}

/// `habitstore habit show HABIT`.
struct HabitShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows everything about a habit."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let summary = try tracker.read { try $0.summary($0.habit(habit), tracker) }
        try output.write(["habit": summary.json]) { text(summary, tracker) }
    }

    private func text(_ summary: HabitSummary, _ tracker: Tracker) -> String {
        let habit = summary.habit
        var table = TextTable([.init("", canShrink: false), .init("")])
        table.append(["name", habit.name])
        table.append(["id", habit.id.uuidString.lowercased()])
        table.append(["schedule", habit.schedule.description])
        if let target = habit.target { table.append(["target", "\(target)" + (habit.unit.map { " \($0)" } ?? "")]) }
        if habit.target == nil, let unit = habit.unit { table.append(["unit", unit]) }
        if let category = habit.category { table.append(["category", category]) }
        if !summary.tags.isEmpty { table.append(["tags", summary.tags.map(\.name).sorted().joined(separator: ", ")]) }
        table.append(["begun", tracker.shown(habit.createdAt)])
        if habit.isArchived { table.append(["archived", "yes"]) }
        table.append(["current streak", summary.streaks.unit.phrase(summary.streaks.current)])
        table.append(["longest streak", summary.streaks.unit.phrase(summary.streaks.longest)])
        table.append(["entries", String(summary.entryCount)])
        if let last = summary.lastEntry { table.append(["last entry", tracker.shown(last)]) }
        return table.text(Terminal.options())
    }
}

/// `habitstore habit archive HABIT`.
struct HabitArchiveCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Archives a habit; its entries stay."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Flag(help: "Unarchive it.")
    var undo = false

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let summary = try tracker.write { transaction in
            var habit = try transaction.habit(self.habit)
            habit.isArchived = !undo
            try transaction.save(habit)
            return try transaction.summary(habit, tracker)
        }
        try output.write(["habit": summary.json]) {
            let (id, name) = (RecordReference.short(summary.habit.id), TerminalText.escaped(summary.habit.name))
            return "\(undo ? "unarchived" : "archived") \(id) \(name)\n"
        }
    }
}

/// `habitstore habit delete HABIT`.
struct HabitDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes a habit and all of its entries; to keep them, archive it."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let (deleted, entries) = try tracker.write { transaction in
            let habit = try transaction.habit(self.habit)
            let before = try transaction.fetchCount(FetchDescriptor<Entry>())
            try transaction.delete(habit)
            return (habit, before - (try transaction.fetchCount(FetchDescriptor<Entry>())))
        }
        try output.write(["deleted": deleted.id.uuidString, "deletedEntries": entries]) {
            let name = TerminalText.escaped(deleted.name)
            let count = entries.counted("entry", plural: "entries")
            return "deleted \(RecordReference.short(deleted.id)) \(name) and \(count)\n"
        }
    }
}

struct HabitSummary {
    let habit: Habit
    let tags: [Tag]
    let entryCount: Int
    let lastEntry: Date?
    let streaks: Streaks

    init(_ habit: Habit, tags: [Tag], entryDates: [Date], _ tracker: Tracker) {
        self.habit = habit
        self.tags = tags
        entryCount = entryDates.count
        lastEntry = entryDates.max()
        streaks = habit.streaks(entryDates, calendar: tracker.calendar, now: tracker.now)
    }

    var json: JSONObject {
        var members: JSONObject = [
            "id": habit.id.uuidString,
            "name": habit.name,
            "category": habit.category,
            "isArchived": habit.isArchived,
            "timesPerPeriod": habit.timesPerPeriod,
            "periodDays": habit.periodDays,
            "unit": habit.unit,
            "target": habit.target,
            "tags": tags.map(\.name).sorted(),
            "tagIDs": habit.tagIDs.map(\.uuidString).sorted(),
            "streak": habit.streak,
            "currentStreak": streaks.current,
            "longestStreak": streaks.longest,
            "streakUnitDays": habit.schedule.periodDays,
            "entryCount": entryCount,
        ]
        members.set("createdAt", habit.createdAt)
        members.set("lastEntry", lastEntry)
        return members
    }
}

extension Habit {
    /// The schedule. An older store may contain invalid numbers, which are replaced by the nearest valid ones.
    var schedule: HabitSchedule {
        do {
            return try HabitSchedule(timesPerPeriod: max(1, timesPerPeriod), periodDays: max(1, periodDays))
        } catch {
            return .daily
        }
    }

    /// The streaks of a habit with entries on `dates`.
    func streaks(_ dates: some Sequence<Date>, calendar: Calendar, now: Date) -> Streaks {
        Streaks.compute(entryDates: dates, schedule: schedule, calendar: calendar, now: now, anchor: createdAt)
    }
}

extension WriteTransaction {
    /// Computes a habit's streaks from its current entries, and stores the longest in the habit.
    @discardableResult
    func updateStreak(of habit: Habit, _ tracker: Tracker) throws -> Streaks {
        let dates = try entries(of: habit.id).map(\.date)
        let streaks = habit.streaks(dates, calendar: tracker.calendar, now: tracker.now)
        if habit.streak != streaks.longest {
            var habit = habit
            habit.streak = streaks.longest
            try save(habit)
        }
        return streaks
    }
}

/// Validates habits beyond what any store refuses.
enum HabitRules {
    static func check(name: String?, times: Int?, period: Int?, target: Double?) throws {
        if let name, name.allSatisfy(\.isWhitespace) { throw ValidationError("a habit needs a name") }
        if let times, times < 1 { throw ValidationError("--times must be 1 or more") }
        if let period, period < 1 { throw ValidationError("--period must be 1 or more") }
        if let target, !target.isFinite { throw ValidationError("--target must be a finite number") }
    }
}
