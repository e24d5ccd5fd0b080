import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore tag list`.
struct TagListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists tags, by name.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let tags = try tracker.read { transaction in
            try transaction.fetch(FetchDescriptor<Tag>(sortBy: [SortDescriptor(\.name)]))
                .map { (tag: $0, count: $0.habits.count) }
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["tags": .array(tags.map { $0.tag.json(habitCount: $0.count) })]))
        case .text:
            var table = TextTable([.init("id", canShrink: false), .init("tag"), .init("habits", alignment: .right)])
            for (tag, count) in tags { table.append([RecordReference.short(tag.id), tag.name, String(count)]) }
            try Output.write(tags.isEmpty ? "no tags yet\n" : table.text(Terminal.options()))
        }
    }
}
