/// An error of the command itself: one line, perhaps a filter's lines with a caret, and the exit code.
package struct CommandFailure: Error {
    let status: ExitStatus
    let message: String
    /// A filter, and a caret below it.
    let illustration: [String]
    /// Users' values, shown only on request.
    let detail: String?

    package init(status: ExitStatus, message: String, illustration: [String] = [], detail: String? = nil) {
        (self.status, self.message, self.illustration, self.detail) = (status, message, illustration, detail)
    }

    package static func usage(_ message: String) -> CommandFailure { CommandFailure(status: .usage, message: message) }
}
