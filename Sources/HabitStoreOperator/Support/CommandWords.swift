import ArgumentParser
import FeatureFlags

/// The words at the beginning of a command line that name a command: `rollout status`.
enum CommandWords {
    /// The error for the first word that names no command although it should; nil if there is none.
    ///
    /// - Parameter arguments: the arguments, without the program's name.
    static func failure(_ arguments: [String], of root: any ParsableCommand.Type) -> CommandFailure? {
        var (command, path) = (root, [Tool.name])
        for word in arguments {
            let configuration = command.configuration
            let commands = configuration.subcommands + configuration.groupedSubcommands.flatMap(\.subcommands)
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            path.append(word)
            if let next = commands.first(where: { names($0).contains(word) }) {
                command = next
                continue
            }
            let question = NearMiss.question(word, among: commands.flatMap(names))
            // The word is an argument of the default subcommand.
            if configuration.defaultSubcommand != nil, question.isEmpty { return nil }
            let advice = question.isEmpty ? "; `\(path.dropLast().joined(separator: " ")) --help` lists them" : question
            return .usage("there is no command \(quoted(path.joined(separator: " ")))\(advice)")
        }
        return nil
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }
}
