import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore entry`.
struct EntryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "entry",
        abstract: "Lists and changes the entries of habits.",
        subcommands: [EntryListCommand.self, EntryEditCommand.self, EntryDeleteCommand.self]
    )
}

/// `habitstore checkin HABIT`.
struct CheckinCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkin",
        abstract: "Records that a habit was done."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(
        name: [.customLong("at"), .customLong("date")],
        help: "When: today, yesterday, 2026-01-31, 2026-01-31T08:30. [default: now]"
    )
    var date: String?

    @Option(parsing: .unconditional, help: "A remark.")
    var note: String?

    @Option(parsing: .unconditional, help: "How much, in the habit's unit.")
    var value: Double?

    func validate() throws {
        if let value, !value.isFinite { throw ValidationError("--value must be a finite number") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let date = try tracker.date(date)
        let (entry, habit, streaks) = try tracker.write { transaction in
            let habit = try transaction.habit(self.habit)
            let entry = Entry(date: date, note: note, value: value, habitID: habit.id)
            try transaction.insert(entry)
            return (entry, habit, try transaction.updateStreak(of: habit, tracker))
        }
        try output.write([
            "entry": entry.json(habitName: habit.name),
            "currentStreak": streaks.current,
            "longestStreak": streaks.longest,
        ]) {
            let amount = entry.valueText(unit: habit.unit)
            let name = TerminalText.escaped(habit.name + (amount.isEmpty ? "" : ", \(amount)"))
            return "checked in \(RecordReference.short(entry.id)) \(name), \(tracker.shown(date)): "
                + "current streak \(streaks.unit.phrase(streaks.current)), "
                + "longest \(streaks.unit.phrase(streaks.longest))\n"
        }
    }
}

/// `habitstore entry list HABIT`.
struct EntryListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists a habit's entries, latest first."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(parsing: .unconditional, help: "The maximum number of entries.")
    var limit: Int?

    @Option(help: "Only entries on or after this date: today, 2026-01-31, 2026-01-31T08:30.")
    var since: String?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must be 0 or more") }
    }

    func run() async throws {
        var habitID: UUID?
        try await watching.show(userOptions, recording) { try answer($0, &habitID) }
    }

    /// - Parameter habitID: the habit found by the first answer; set if it is nil.
    private func answer(_ tracker: Tracker, _ habitID: inout UUID?) throws -> Answer {
        let (habit, entries) = try tracker.read { transaction in
            let habit = try transaction.habit(self.habit, knownBy: &habitID)
            var conditions: [FilterExpression] = [
                .compare(.equal, .attribute(AttributePath("habitID")), .literal(.uuid(habit.id)))
            ]
            if let since {
                let date = try tracker.beginning(of: since)
                conditions.append(.compare(.greaterOrEqual, .attribute(AttributePath("date")), .literal(.date(date))))
            }
            let descriptor = FetchDescriptor<Entry>(
                filter: .all(conditions),
                sortBy: [SortDescriptor(\.date, order: .reverse)],
                fetchLimit: limit
            )
            return (habit, try transaction.fetch(descriptor))
        }
        return output.answer([
            "habit": habit.name,
            "habitID": habit.id.uuidString,
            "entries": entries.map { $0.json(habitName: habit.name) },
        ]) {
            var table = TextTable([
                .init("id", canShrink: false), .init("date", canShrink: false), .init("value", alignment: .right),
                .init("note", maximumWidth: 80),
            ])
            for entry in entries {
                table.append([
                    RecordReference.short(entry.id), tracker.shown(entry.date), entry.valueText(unit: habit.unit),
                    entry.note ?? "",
                ])
            }
            return entries.isEmpty ? "no entries\n" : table.text(Terminal.options())
        }
    }
}

/// `habitstore entry edit ENTRY`.
struct EntryEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes an entry.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The entry, by the first digits of its id.")
    var entry: String

    @Option(
        name: [.customLong("at"), .customLong("date")],
        help: "When: today, yesterday, 2026-01-31, 2026-01-31T08:30."
    )
    var date: String?

    @Option(parsing: .unconditional, help: "A new remark.")
    var note: String?

    @Flag(help: "Remove the remark.")
    var noNote = false

    @Option(parsing: .unconditional, help: "A new value.")
    var value: Double?

    @Flag(help: "Remove the value.")
    var noValue = false

    @Option(help: "Another habit, by name or by the first digits of its id.")
    var habit: String?

    func validate() throws {
        if let value, !value.isFinite { throw ValidationError("--value must be a finite number") }
        guard note == nil || !noNote, value == nil || !noValue else {
            throw ValidationError("an option and its opposite exclude each other")
        }
        let changes: [Any?] = [date, note, value, habit]
        guard changes.contains(where: { $0 != nil }) || noNote || noValue else {
            throw ValidationError("nothing to change; give a new value with one of the options")
        }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let newDate = try date.map { try tracker.date($0) }
        let (edited, name) = try tracker.write { transaction in
            var edited = try transaction.entry(entry)
            let before = edited.habit
            if let newDate { edited.date = newDate }
            if let note { edited.note = note }
            if noNote { edited.note = nil }
            if let value { edited.value = value }
            if noValue { edited.value = nil }
            if let habit { edited.habitID = try transaction.habit(habit).id }
            try transaction.save(edited)
            let after = edited.habit
            if let before, before.id != after?.id { try transaction.updateStreak(of: before, tracker) }
            if let after { try transaction.updateStreak(of: after, tracker) }
            return (edited, after?.name)
        }
        try output.write(["entry": edited.json(habitName: name)]) {
            "changed \(RecordReference.short(edited.id)), \(tracker.shown(edited.date))\n"
        }
    }
}

/// `habitstore entry delete ENTRY`.
struct EntryDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Deletes an entry.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The entry, by the first digits of its id.")
    var entry: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let entry = try transaction.entry(self.entry)
            let habit = entry.habit
            try transaction.delete(entry)
            if let habit { try transaction.updateStreak(of: habit, tracker) }
            return entry
        }
        try output.write(["deleted": deleted.id.uuidString]) {
            "deleted \(RecordReference.short(deleted.id)), \(tracker.shown(deleted.date))\n"
        }
    }
}

extension Entry {
    /// The entry as JSON, with its habit's name if it has a habit.
    func json(habitName: String?) -> JSONObject {
        var members: JSONObject = [
            "id": id.uuidString,
            "habitID": habitID,
            "habit": habitName,
            "note": note,
            "value": value,
        ]
        members.set("date", date)
        return members
    }

    /// The value with the habit's unit, for people.
    func valueText(unit: String?) -> String {
        guard let value else { return "" }
        return (value == value.rounded() && value.magnitude < 1e15 ? String(Int(value)) : String(value))
            + (unit.map { " \($0)" } ?? "")
    }
}
