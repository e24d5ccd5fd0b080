import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore draft`.
struct DraftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "draft",
        abstract: "Adds, lists and changes drafts: unfinished texts.",
        subcommands: [
            DraftAddCommand.self, DraftListCommand.self, DraftShowCommand.self, DraftEditCommand.self,
            DraftDeleteCommand.self,
        ]
    )
}

/// `habitstore draft add TEXT`.
struct DraftAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a draft.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The text.")
    var text: String

    @Option(name: .customLong("attach"), help: "The name of an attached file. May be repeated.")
    var attachments: [String] = []

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording, mayBegin: true)
        defer { tracker.close() }
        let draft = Draft(content: text, creationDate: tracker.now, attachments: attachments)
        try tracker.write { try $0.insert(draft) }
        try output.write(["draft": draft.json]) { "added \(RecordReference.short(draft.id))\n" }
    }
}

/// `habitstore draft edit DRAFT`.
struct DraftEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes a draft.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    @Option(name: [.customLong("text"), .customLong("content")], parsing: .unconditional, help: "A new text.")
    var text: String?

    @Option(name: .customLong("attach"), help: "The name of a file to attach. May be repeated.")
    var attachments: [String] = []

    @Option(name: .customLong("detach"), help: "The name of an attached file to remove. May be repeated.")
    var detachments: [String] = []

    func validate() throws {
        guard text != nil || !attachments.isEmpty || !detachments.isEmpty else {
            throw ValidationError("nothing to change; give a new value with one of the options")
        }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let edited = try tracker.write { transaction in
            var edited = try transaction.draft(draft)
            if let text { edited.content = text }
            edited.attachments.removeAll { detachments.contains($0) }
            edited.attachments += attachments
            try transaction.save(edited)
            return edited
        }
        try output.write(["draft": edited.json]) { "changed \(RecordReference.short(edited.id))\n" }
    }
}

/// `habitstore draft list`.
struct DraftListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists drafts, latest first.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let drafts = try tracker.read {
            try $0.fetch(FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.creationDate, order: .reverse)]))
        }
        try output.write(["drafts": drafts.map(\.json)]) {
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
            return drafts.isEmpty ? "no drafts\n" : table.text(Terminal.options())
        }
    }
}

/// `habitstore draft show DRAFT`.
struct DraftShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Shows a draft's whole text.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let draft = try tracker.read { try $0.draft(self.draft) }
        try output.write(["draft": draft.json]) {
            // Line breaks stay; other control characters are escaped.
            let lines = draft.content.split(separator: "\n", omittingEmptySubsequences: false)
            var text = lines.map { TerminalText.escaped(String($0)) + "\n" }.joined()
            for name in draft.attachments { text += "attached: \(TerminalText.escaped(name))\n" }
            return text
        }
    }
}

/// `habitstore draft delete DRAFT`.
struct DraftDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Deletes a draft.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let draft = try transaction.draft(self.draft)
            try transaction.delete(draft)
            return draft
        }
        try output.write(["deleted": deleted.id.uuidString]) { "deleted \(RecordReference.short(deleted.id))\n" }
    }
}

extension Draft {
    var json: JSONObject {
        var members: JSONObject = [
            "id": id.uuidString,
            "content": content,
            "attachments": attachments,
        ]
        members.set("creationDate", creationDate)
        return members
    }
}
