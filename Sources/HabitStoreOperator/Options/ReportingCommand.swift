import ArgumentParser

/// A command with the common output options.
package protocol ReportingCommand: AsyncParsableCommand {
    var output: OutputOptions { get }
    /// Whether it runs until it is stopped and writes one document per line.
    var isFollowing: Bool { get }
}

extension ReportingCommand {
    package var isFollowing: Bool { false }
}
