import HabitStore
import HabitStoreReports

/// An error of a filter, with a caret under the place where it is.
enum FilterFailure {
    /// How much of a long filter is shown to both sides of the place.
    private static let margin = 50

    /// The error as the command tells it; one that names no column is passed on.
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
