import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore habit edit HABIT`.
struct HabitEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes a habit.")

    @OptionGroup var trackerOptions: TrackerOptions
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
        let tracker = try await Tracker.open(trackerOptions)
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
        switch output.format {
        case .json: try JSON.write(JSON.object(["habit": summary.json]))
        case .text:
            let habit = summary.habit
            try Output.write("changed \(RecordReference.short(habit.id)) \(TerminalText.escaped(habit.name))\n")
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
