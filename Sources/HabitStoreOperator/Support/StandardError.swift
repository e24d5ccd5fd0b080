import Foundation
import HabitStore
import HabitStoreReports

/// Standard error, for errors, notes and progress.
package enum StandardError {
    /// Writes a text. A failure is ignored, because there is nowhere left to report it.
    package static func write(_ text: String) { _ = Output.writeAll(text, to: STDERR_FILENO) }

    /// Writes a note: one line that accompanies an answer and is not an error.
    package static func note(_ text: String) { write(line(ofNote: text)) }

    /// The line of a note.
    static func line(ofNote text: String) -> String {
        "\(Tool.name): note: \(TerminalText.escaped(Passwords.redacted(text)))\n"
    }

    /// Notes that a store's contents are incomplete, if a copy or an import into it was not finished.
    package static func noteIfUnfinished(_ role: StoreRole) {
        guard role == .backfilling else { return }
        note("a copy or an import into this store is not finished; this is its content so far")
    }
}
