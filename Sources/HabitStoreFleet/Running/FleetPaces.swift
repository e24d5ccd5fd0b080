import Foundation

/// Limits how fast users are started.
struct FleetPaces {
    private let usersPerSecond: Double?
    private let bytesPerSecond: Double?
    /// When the next users may be started.
    private var next = ContinuousClock.now

    init(_ pace: FleetPlan.Pace) {
        usersPerSecond = pace.usersPerMinute.map { $0 / 60 }
        bytesPerSecond = pace.mebibytesPerSecond.map { $0 * 1_048_576 }
    }

    /// How long to wait before starting more users.
    var secondsToWait: Double { max(0, (next - ContinuousClock.now) / .seconds(1)) }

    /// Records that users are started now; the next ones wait as long as these may take.
    mutating func begin(_ bytes: [Int]) {
        let users = usersPerSecond.map { Double(bytes.count) / $0 } ?? 0
        let copying = bytesPerSecond.map { Double(bytes.reduce(0, +)) / $0 } ?? 0
        next = max(next, .now) + .seconds(max(users, copying))
    }
}

extension FleetPlan.Hours {
    /// Whether a time is within the hours.
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
