import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports

/// `habitstore habit show HABIT`.
struct HabitShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows everything about a habit."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let summary = try tracker.read { try $0.summary($0.habit(habit), tracker) }
        switch output.format {
        case .json: try JSON.write(JSON.object(["habit": summary.json]))
        case .text: try Output.write(text(summary, tracker))
        }
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
