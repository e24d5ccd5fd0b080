import Foundation

/// Answers that are shown one after the other, as long as they become others: in a terminal each in the place of the one before,
/// elsewhere below it after an empty line, and documents as a line each.
package struct ShownAnswers {
    private var last: [String]?

    package init() {}

    /// Whether none was shown so far.
    package var isEmpty: Bool { last == nil }

    /// Shows an answer, unless it is what was shown last.
    ///
    /// - Parameters:
    ///   - notes: what goes to standard error before it.
    ///   - errors: what goes to standard error after it.
    package mutating func show(_ answer: Answer, notes: String = "", errors: String = "") throws {
        let text = try answer.text(asLine: true)
        guard last != [notes, text, errors] else { return }
        if case .text = answer {
            if Terminal.isTerminal(STDOUT_FILENO) {
                try Output.write(Terminal.home)
            } else if !isEmpty {
                try Output.write("\n")
            }
        }
        last = [notes, text, errors]
        StandardError.write(notes)
        try Output.write(text)
        StandardError.write(errors)
    }
}
