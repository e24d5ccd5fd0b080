import ArgumentParser
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

/// `habitstore user erase`.
struct UserEraseCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "erase",
            abstract: "Removes everything that is kept about a user, and says what is out of reach.",
            discussion: """
                In all stores that the user has under the root: the records, also on servers, and what was set aside \
                next to them; copies of killed processes; the evidence and its archives; the user's rows in the fleet; \
                the backups that `\(Tool.name) user backup` has made, where they were made. As soon as it starts, the \
                user is not served; an interrupted erasure is finished by the next one.

                Refused while a process has the user open. With --force that process is fenced out: its next read or \
                write fails. Files are removed and not overwritten; disks and file systems may keep their contents.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The user.")
    var user: String?

    @Flag(help: "Only list what would be removed.")
    var dryRun = false

    @Flag(help: "Fence out processes that have the user open, stopped or running.")
    var force = false

    func validate() throws { _ = try userOptions.named(by: user) }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let outcome = try stores.erase(
            try userOptions.named(by: user),
            isDry: dryRun,
            isForced: force,
            elsewhere: ErasureElsewhere(try StoreRoot.all(under: settings.home).map { Fleet(root: $0.path).erasure })
        )
        switch output.format {
        case .json: try JSON.write(Document(outcome))
        case .text: try Output.write(text(outcome))
        }
    }

    private func text(_ outcome: ErasureOutcome) -> String {
        let word = outcome.isDone ? "removed" : "would be removed"
        var lines = outcome.items.map { item in
            "\(word): \(item.kind) \(item.place)" + (item.sizeBytes.map { " (\($0) bytes)" } ?? "")
        }
        lines += outcome.unreachable.map { "out of reach: \($0)" }
        lines.append(outcome.isDone ? "erased" : "nothing was removed")
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    /// The outcome as JSON.
    private struct Document: Encodable {
        let user: String
        let isDryRun: Bool
        let items: [ErasureOutcome.Item]
        let unreachable: [String]

        init(_ outcome: ErasureOutcome) {
            (user, isDryRun) = (outcome.user, !outcome.isDone)
            (items, unreachable) = (outcome.items, outcome.unreachable)
        }
    }
}
