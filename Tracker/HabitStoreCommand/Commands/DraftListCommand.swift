import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore draft list`.
struct DraftListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists drafts, latest first.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let drafts = try tracker.read {
            try $0.fetch(FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.creationDate, order: .reverse)]))
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["drafts": .array(drafts.map(\.json))]))
        case .text:
            var table = TextTable([
                .init("id", canShrink: false), .init("begun", canShrink: false), .init("text", maximumWidth: 60),
                .init("attachments"),
            ])
            for draft in drafts {
                table.append([
                    RecordReference.short(draft.id), tracker.shown(draft.creationDate), draft.content,
                    draft.attachments.joined(separator: ", "),
                ])
            }
            try Output.write(drafts.isEmpty ? "no drafts\n" : table.text(Terminal.options()))
        }
    }
}
