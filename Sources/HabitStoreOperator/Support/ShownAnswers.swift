import Foundation

/// Prints successive answers that differ: on a terminal each replaces the one before, elsewhere an empty line separates them, and documents take one
/// line each.
package struct ShownAnswers {
    private var last: [String]?

    package init() {}

    /// Whether no answer was printed yet.
    package var isEmpty: Bool { last == nil }

    /// Prints an answer, unless it equals the last one.
    ///
    /// - Parameters:
    ///   - notes: text for standard error before it.
    ///   - errors: text for standard error after it.
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
