import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator

/// `habitstore entry edit ENTRY`.
struct EntryEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes an entry.")

    @OptionGroup var trackerOptions: TrackerOptions
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
        let tracker = try await Tracker.open(trackerOptions)
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
        switch output.format {
        case .json: try JSON.write(JSON.object(["entry": edited.json(habitName: name)]))
        case .text: try Output.write("changed \(RecordReference.short(edited.id)), \(tracker.shown(edited.date))\n")
        }
    }
}
