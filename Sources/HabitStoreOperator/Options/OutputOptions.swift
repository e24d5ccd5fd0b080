import ArgumentParser
import HabitStore

/// The options for a command's output.
package struct OutputOptions: ParsableArguments {
    /// The output formats.
    package enum Format: String, ExpressibleByArgument, CaseIterable {
        /// For people.
        case text
        /// For programs: stable, with sorted keys.
        case json
    }

    @Option(help: "The output format.")
    package var format = Format.text

    @Flag(help: "Show values in errors, which may be personal.")
    package var verbose = false

    package init() {}
}
