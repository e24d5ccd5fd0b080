import ArgumentParser
import HabitStore

/// How a command answers.
struct OutputOptions: ParsableArguments {
    /// The forms of an answer.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        /// For people.
        case text
        /// For programs: stable, sorted keys.
        case json
    }

    @Option(help: "The form of the answer.")
    var format = Format.text

    @Flag(help: "Show in errors the values that they are about, which may be personal.")
    var verbose = false
}
