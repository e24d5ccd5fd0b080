import HabitStore
import HabitStoreReports

/// An error in a filter, with a caret below its position.
enum FilterFailure {
    /// How many characters of a long filter to show on each side of the error.
    private static let margin = 50

    /// The error with an illustration; unchanged if it has no column.
    static func illustrated(_ error: HabitStoreError, filter: String) -> any Error {
        guard let column = error.location.column, column >= 1 else { return error }
        let characters = Array(filter)
        let position = min(column - 1, characters.count)
        let start = max(0, position - margin)
        let end = min(characters.count, position + margin)
        let before = (start > 0 ? "…" : "") + TerminalText.escaped(String(characters[start..<position]))
        let after = TerminalText.escaped(String(characters[position..<end])) + (end < characters.count ? "…" : "")
        let caret = String(repeating: " ", count: displayWidth(of: before)) + "^"
        return CommandFailure(
            status: .usage,
            message: "the filter cannot be read, \(error.message)",
            illustration: ["  " + before + after, "  " + caret],
            detail: error.detail
        )
    }
}
