import Foundation
import HabitStoreReports

/// A progress bar on standard error, if that is a terminal.
package final class ProgressBar {
    private static let width = 30
    private static let pauseSeconds = 0.1

    private let isShown: Bool
    private var lastDrawn: ContinuousClock.Instant?

    package init(isQuiet: Bool) { isShown = !isQuiet && Terminal.isTerminal(STDERR_FILENO) }

    /// Draws the progress, unless it was drawn a moment ago.
    package func show(_ label: String, _ done: Int, _ total: Int) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .seconds(Self.pauseSeconds) { return }
        lastDrawn = now
        let fraction = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
        let filled = Int(fraction * Double(Self.width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
        let percent = TerminalText.padded("\(Int(fraction * 100))%", toWidth: 4, alignment: .right)
        let line = "[\(bar)] \(percent) \(TerminalText.escaped(label))"
        let columns = Terminal.columns(of: STDERR_FILENO) ?? 80
        StandardError.write("\r" + TerminalText.truncated(line, toWidth: max(1, columns - 1)) + "\u{1B}[K")
    }

    /// Removes the bar.
    package func clear() {
        if lastDrawn != nil { StandardError.write("\r\u{1B}[K") }
        lastDrawn = nil
    }
}
