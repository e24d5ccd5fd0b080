import Foundation

extension Double {
    /// Seconds as people read them: `0.4 ms`, `120 ms`, `3.2 s`.
    var secondsText: String {
        let milliseconds = self * 1_000
        if milliseconds < 10 { return String(format: "%.1f ms", milliseconds) }
        if milliseconds < 1_000 { return String(format: "%.0f ms", milliseconds) }
        return String(format: "%.1f s", self)
    }
}
