import Foundation
import HabitStoreReports

/// Standard error, for errors, notes and progress.
enum StandardError {
    /// Writes a text. There is nobody left to tell when that fails.
    static func write(_ text: String) { _ = Output.writeAll(text, to: STDERR_FILENO) }

    /// Writes a note: one line that goes with an answer, and is no error.
    static func note(_ text: String) { write("habitstore: note: \(TerminalText.escaped(text))\n") }
}
