import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore tag`.
struct TagCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag",
        abstract: "Adds, lists and changes the tags of habits.",
        subcommands: [TagAddCommand.self, TagListCommand.self, TagRenameCommand.self, TagDeleteCommand.self]
    )
}

/// `habitstore tag add NAME`.
struct TagAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a tag.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name; no two tags may have the same.")
    var name: String

    func validate() throws {
        guard !name.allSatisfy(\.isWhitespace) else { throw ValidationError("a tag needs a name") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording, mayBegin: true)
        defer { tracker.close() }
        let tag = Tag(name: name)
        try tracker.write { try $0.insert(tag) }
        try output.write(["tag": tag.json(habitCount: 0)]) {
            "added \(RecordReference.short(tag.id)) \(TerminalText.escaped(tag.name))\n"
        }
    }
}

/// `habitstore tag list`.
struct TagListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists tags, by name.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let tags = try tracker.read { transaction in
            try transaction.fetch(FetchDescriptor<Tag>(sortBy: [SortDescriptor(\.name)]))
                .map { (tag: $0, count: $0.habits.count) }
        }
        try output.write(["tags": tags.map { $0.tag.json(habitCount: $0.count) }]) {
            var table = TextTable([.init("id", canShrink: false), .init("tag"), .init("habits", alignment: .right)])
            for (tag, count) in tags { table.append([RecordReference.short(tag.id), tag.name, String(count)]) }
            return tags.isEmpty ? "no tags yet\n" : table.text(Terminal.options())
        }
    }
}

/// `habitstore tag rename TAG NAME`.
struct TagRenameCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "rename", abstract: "Gives a tag another name.")

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The tag, by name or by the first digits of its id.")
    var tag: String

    @Argument(help: "The new name.")
    var name: String

    func validate() throws {
        guard !name.allSatisfy(\.isWhitespace) else { throw ValidationError("a tag needs a name") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let (renamed, count) = try tracker.write { transaction in
            var renamed = try transaction.tag(tag)
            renamed.name = name
            try transaction.save(renamed)
            return (renamed, renamed.habits.count)
        }
        try output.write(["tag": renamed.json(habitCount: count)]) {
            "renamed \(RecordReference.short(renamed.id)) \(TerminalText.escaped(renamed.name))\n"
        }
    }
}

/// `habitstore tag delete TAG`.
struct TagDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes a tag; the habits marked with it stay."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The tag, by name or by the first digits of its id.")
    var tag: String

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let tag = try transaction.tag(self.tag)
            try transaction.delete(tag)
            return tag
        }
        try output.write(["deleted": deleted.id.uuidString]) {
            "deleted \(RecordReference.short(deleted.id)) \(TerminalText.escaped(deleted.name))\n"
        }
    }
}

extension Tag {
    func json(habitCount: Int) -> JSONObject {
        ["id": id.uuidString, "name": name, "habitCount": habitCount]
    }
}
