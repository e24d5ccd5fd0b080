import ArgumentParser

/// `habitstore habit`.
struct HabitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habit",
        abstract: "Adds, lists and changes habits.",
        subcommands: [
            HabitAddCommand.self, HabitListCommand.self, HabitShowCommand.self, HabitEditCommand.self,
            HabitArchiveCommand.self, HabitDeleteCommand.self,
        ]
    )
}
