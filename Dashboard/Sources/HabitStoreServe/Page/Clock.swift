import Foundation

/// Formats times and durations for people, the same in every locale.
struct Clock: Sendable {
    let timeZone: TimeZone
    let now: Date

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    /// `18:40`, with the date if it is not today: `25 Nov 18:40`.
    func time(_ date: Date) -> String { written(date, withSeconds: false) }

    /// `18:40:07`, with the date if it is not today.
    func second(_ date: Date) -> String { written(date, withSeconds: true) }

    private func written(_ date: Date, withSeconds: Bool) -> String {
        let calendar = calendar
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        var text = "\(Self.padded(parts.hour)):\(Self.padded(parts.minute))"
        if withSeconds { text += ":\(Self.padded(parts.second))" }
        guard !calendar.isDate(date, inSameDayAs: now) else { return text }
        let month = Self.months[min(11, max(0, (parts.month ?? 1) - 1))]
        let year = calendar.component(.year, from: now) == parts.year ? "" : " \(parts.year ?? 0)"
        return "\(parts.day ?? 1) \(month)\(year) \(text)"
    }

    private static func padded(_ number: Int?) -> String {
        let text = String(number ?? 0)
        return text.count < 2 ? "0" + text : text
    }

    /// The time in ISO 8601, for programs.
    func precise(_ date: Date) -> String { date.formatted(.iso8601) }

    /// A duration in its two largest units: `2 d 4 h`, `12 min`, `40 s`.
    static func length(_ seconds: Double) -> String {
        guard seconds.isFinite else { return "–" }
        let whole = Int(min(max(0, seconds), 1e12))
        let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { whole >= $0.0 }) else { return "0 s" }
        let (size, name) = units[first]
        var text = "\(whole / size) \(name)"
        if first + 1 < units.count, first < 2 {
            let (smaller, smallerName) = units[first + 1]
            let rest = whole % size / smaller
            if rest > 0 { text += " \(rest) \(smallerName)" }
        }
        return text
    }

    /// `4.2 ms`, `1.3 s`: at most three digits.
    static func latency(_ seconds: Double) -> String {
        guard seconds.isFinite else { return "–" }
        switch seconds {
        case ..<0.001: return "\(rounded(seconds * 1e6, 0)) µs"
        case ..<0.01: return "\(rounded(seconds * 1e3, 2)) ms"
        case ..<0.1: return "\(rounded(seconds * 1e3, 1)) ms"
        case ..<1: return "\(rounded(seconds * 1e3, 0)) ms"
        default: return "\(rounded(seconds, 1)) s"
        }
    }

    /// A size in the unit that fits: `12 MiB`.
    static func size(_ bytes: Int) -> String {
        let units = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1_024.0, "KiB")]
        guard let (size, name) = units.first(where: { Double(bytes) >= $0.0 }) else { return "\(bytes) B" }
        let number = Double(bytes) / size
        return "\(rounded(number, number < 10 ? 1 : 0)) \(name)"
    }

    /// A number with this many decimals.
    static func rounded(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }
}
