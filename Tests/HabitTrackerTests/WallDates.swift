import Foundation

/// The dates of a zone, found the slow and plain way: by asking `Calendar` at every half hour.
///
/// It shares nothing with the code under test: dates are year, month and day, and the date after a date comes from `Calendar` in Greenwich.
struct WallDates {
    /// Year, month and day according to `Calendar`.
    struct Label: Hashable {
        let year: Int?
        let month: Int?
        let day: Int?
    }

    /// Every date from the first to the last, including those that the zone skipped.
    let labels: [Label]
    /// The dates that the zone's clock really showed.
    let existing: Set<Label>
    private let calendar: Calendar

    init(from start: Date, through end: Date, calendar: Calendar) {
        self.calendar = calendar
        var seen: [Label] = []
        var existing: Set<Label> = []
        var instant = start
        while instant <= end {
            let label = Self.label(instant, calendar)
            if existing.insert(label).inserted { seen.append(label) }
            instant += 1_800
        }
        self.existing = existing
        var labels: [Label] = []
        let greenwich = TestCalendars.greenwich
        // A clock set back over midnight shows the later date before the earlier one.
        let dates = seen.compactMap {
            greenwich.date(from: DateComponents(year: $0.year, month: $0.month, day: $0.day, hour: 12))
        }
        guard var date = dates.min(), let last = dates.max() else {
            self.labels = []
            return
        }
        while date <= last {
            labels.append(Self.label(date, greenwich))
            guard let next = greenwich.date(byAdding: .day, value: 1, to: date) else { break }
            date = next
        }
        self.labels = labels
    }

    /// The index of an instant's date in ``labels``.
    func index(of date: Date) -> Int? {
        labels.firstIndex(of: Self.label(date, calendar))
    }

    private static func label(_ date: Date, _ calendar: Calendar) -> Label {
        let components = calendar.dateComponents([.year, .month, .day], from: date)
        return Label(year: components.year, month: components.month, day: components.day)
    }
}
