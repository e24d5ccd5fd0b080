import ArgumentParser

/// A command that has the common options of output.
protocol ReportingCommand: AsyncParsableCommand {
    var output: OutputOptions { get }
}
