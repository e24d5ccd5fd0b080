import ArgumentParser

/// A command that has the common options of output.
package protocol ReportingCommand: AsyncParsableCommand {
    var output: OutputOptions { get }
    /// Whether it goes on until it is stopped, and writes a document on each line.
    var isFollowing: Bool { get }
}

extension ReportingCommand {
    package var isFollowing: Bool { false }
}
