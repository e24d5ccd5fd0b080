/// An error of the command itself: one line, perhaps the lines of a filter with a caret, and the exit code.
struct CommandFailure: Error {
    let status: ExitStatus
    let message: String
    /// A filter and a caret under it.
    var illustration: [String] = []
    /// User's values, shown when they are asked for.
    var detail: String?

    static func usage(_ message: String) -> CommandFailure { CommandFailure(status: .usage, message: message) }
}
