import Foundation
import HabitStore
import HabitStoreReports

/// Standard error, for errors, notes and progress.
package enum StandardError {
    /// Writes a text. There is nobody left to tell when that fails.
    package static func write(_ text: String) { _ = Output.writeAll(text, to: STDERR_FILENO) }

    /// Writes a note: one line that goes with an answer, and is no error.
    package static func note(_ text: String) { write(line(ofNote: text)) }

    /// A note as it is written.
    static func line(ofNote text: String) -> String {
        "\(Tool.name): note: \(TerminalText.escaped(Passwords.redacted(text)))\n"
    }

    /// Says that what is shown of a store is a part, where a copy or an import into it was not finished.
    package static func noteIfUnfinished(_ role: StoreRole) {
        guard role == .backfilling else { return }
        note("a copy or an import into this store is not finished; this is what there is of it so far")
    }
}
