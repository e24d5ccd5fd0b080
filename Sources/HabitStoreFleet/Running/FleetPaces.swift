import Foundation

/// How fast users may be begun with.
struct FleetPaces {
    private let usersPerSecond: Double?
    private let bytesPerSecond: Double?
    /// When the next ones may be begun with.
    private var next = ContinuousClock.now

    init(_ pace: FleetPlan.Pace) {
        usersPerSecond = pace.usersPerMinute.map { $0 / 60 }
        bytesPerSecond = pace.mebibytesPerSecond.map { $0 * 1_048_576 }
    }

    /// How long users have to wait, by what was begun before.
    var secondsToWait: Double { max(0, (next - ContinuousClock.now) / .seconds(1)) }

    /// Users are begun with now: what comes next waits as long as they may take.
    mutating func begin(_ bytes: [Int]) {
        let users = usersPerSecond.map { Double(bytes.count) / $0 } ?? 0
        let copying = bytesPerSecond.map { Double(bytes.reduce(0, +)) / $0 } ?? 0
        next = max(next, .now) + .seconds(max(users, copying))
    }
}

extension FleetPlan.Hours {
    /// Whether a moment is among them.
    func contains(_ date: Date) -> Bool {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: timeZone) ?? .gmt
        let parts = calendar.dateComponents([.hour, .minute], from: date)
        let minute = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
        return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
    }

    /// `08:00–20:00 Europe/Berlin`.
    var words: String {
        func time(_ minute: Int) -> String {
            let (hours, minutes) = (minute / 60, minute % 60)
            return (hours < 10 ? "0" : "") + "\(hours):" + (minutes < 10 ? "0" : "") + "\(minutes)"
        }
        return "\(time(from))–\(time(to)) \(timeZone)"
    }
}
