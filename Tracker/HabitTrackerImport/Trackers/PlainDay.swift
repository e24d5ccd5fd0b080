import Foundation
import HabitStoreImport

/// Days computed by Foundation's calendar, to check days computed otherwise.
enum PlainDay {
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// The text itself, if it is a valid date.
    static func iso(_ text: String) -> String? {
        let numbers = text.split(separator: "-").compactMap { Int($0) }
        guard numbers.count == 3, text.count == 10 else { return nil }
        return self.text(numbers[0], numbers[1], numbers[2])
    }

    static func text(daysSince1970 days: Int) -> String {
        let parts = calendar.dateComponents(
            [.year, .month, .day],
            from: Date(timeIntervalSince1970: Double(days) * 86_400)
        )
        return padded(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
    }

    static func text(_ year: Int, _ month: Int, _ day: Int) -> String? {
        let parts = DateComponents(calendar: calendar, year: year, month: month, day: day)
        return parts.isValidDate ? padded(year, month, day) : nil
    }

    private static func padded(_ year: Int, _ month: Int, _ day: Int) -> String {
        String(format: "%04d-%02d-%02d", year, month, day)
    }
}
