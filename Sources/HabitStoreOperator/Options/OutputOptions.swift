import ArgumentParser
import HabitStore

/// How a command answers.
package struct OutputOptions: ParsableArguments {
    /// The forms of an answer.
    package enum Format: String, ExpressibleByArgument, CaseIterable {
        /// For people.
        case text
        /// For programs: stable, sorted keys.
        case json
    }

    @Option(help: "The form of the answer.")
    package var format = Format.text

    @Flag(help: "Show in errors the values that they are about, which may be personal.")
    package var verbose = false

    package init() {}
}
