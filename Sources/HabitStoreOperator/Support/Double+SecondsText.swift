import Foundation

extension Double {
    /// Seconds for people: `0.4 ms`, `120 ms`, `3.2 s`.
    var secondsText: String {
        let milliseconds = self * 1_000
        if milliseconds < 10 { return String(format: "%.1f ms", milliseconds) }
        if milliseconds < 1_000 { return String(format: "%.0f ms", milliseconds) }
        return String(format: "%.1f s", self)
    }

    /// Long durations for people: `45 s`, `12m 30s`, `3h 5m`, `2d 4h`.
    var durationText: String {
        guard self >= 60 else { return "\(Int(rounded(.up))) s" }
        let units: Set<Duration.UnitsFormatStyle.Unit> = [.days, .hours, .minutes, .seconds]
        return Duration.seconds(self).formatted(.units(allowed: units, width: .narrow, maximumUnitCount: 2))
    }
}
