import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore habit list`.
struct HabitListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists habits with their streaks, by name."
    )

    @OptionGroup var trackerOptions: TrackerOptions
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
        try await watching.show(trackerOptions) { try answer($0, &tagID) }
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
        switch output.format {
        case .json: return .document(JSON.object(["habits": .array(summaries.map(\.json))]))
        case .text: return .text(text(summaries, tracker))
        }
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
