import HabitStoreReports
import HabitTracker

/// The three rows of a chart with one cell for each day: bars, days of the week, and dates.
struct ChartGrid {
    /// The width of the grid in columns.
    let width: Int
    /// How many of the calendar's last days are drawn.
    let drawnDays: Int

    private let weeks: [[DayCount]]
    private let cellWidth: Int
    private let schedule: HabitSchedule
    private let options: TerminalOptions
    private let showsValues: Bool
    private let highest: Double

    /// Chooses the layout: two columns for each day if they fit, otherwise one, and fewer days if even that is too wide.
    init(calendar: HabitCalendar, schedule: HabitSchedule, options: TerminalOptions) {
        self.schedule = schedule
        self.options = options
        let showsValues = calendar.valueCount > 0
        self.showsValues = showsValues
        highest = calendar.days.map { Self.height(of: $0, showsValues: showsValues) }.max() ?? 0
        let all = Self.weeks(calendar.days, firstWeekday: calendar.firstWeekday)
        let limit = options.columns ?? .max
        cellWidth = Self.width(of: all, cellWidth: 2) <= limit ? 2 : 1
        // Each day takes at least one column, so start with at most as many days as columns.
        var count = min(calendar.days.count, limit)
        var shown = Self.weeks(calendar.days.suffix(count), firstWeekday: calendar.firstWeekday)
        while count > 1, Self.width(of: shown, cellWidth: cellWidth) > limit {
            count -= 1
            shown = Self.weeks(calendar.days.suffix(count), firstWeekday: calendar.firstWeekday)
        }
        weeks = shown
        drawnDays = count
        width = Self.width(of: shown, cellWidth: cellWidth)
    }

    /// The three rows.
    func lines() -> [String] {
        [
            line { $0.map { bar($0) + padding } },
            line { $0.map { Self.weekdayLetters[$0.day.weekday - 1] + padding } },
            row(weeks.indices.map { dateLabel(weeks[$0], isLast: $0 == weeks.count - 1) }),
        ]
    }

    private static let weekdayLetters = ["S", "M", "T", "W", "T", "F", "S"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private var padding: String { cellWidth == 2 ? " " : "" }

    private func line(_ cells: ([DayCount]) -> [String]) -> String {
        row(weeks.map { cells($0).joined() })
    }

    private func row(_ texts: [String]) -> String {
        var text = texts.joined(separator: (options.isASCII ? "|" : "│") + padding)
        while text.last == " " { text.removeLast() }
        return text
    }

    private func bar(_ day: DayCount) -> String {
        guard day.count > 0 else { return options.isASCII ? "." : "·" }
        let level = level(of: day)
        let symbol = options.isASCII ? "\(level)" : Self.blocks[level - 1]
        guard options.usesColor else { return symbol }
        let isEnough = schedule.periodDays > 1 || day.count >= schedule.timesPerPeriod
        // Green if the day's part was done, yellow if only some of it was.
        return "\u{1B}[\(isEnough ? 32 : 33)m\(symbol)\u{1B}[0m"
    }

    /// The height of a bar, 1 to 8. A negative sum is drawn as the lowest bar.
    private func level(of day: DayCount) -> Int {
        let height = Self.height(of: day, showsValues: showsValues)
        guard height > 0, highest > 0 else { return 1 }
        return max(1, min(8, Int((height / highest * 8).rounded(.up))))
    }

    private static func height(of day: DayCount, showsValues: Bool) -> Double {
        showsValues ? day.valueSum : Double(day.count)
    }

    /// The date of a week's first day: month and day, only the day if both do not fit into the week's cells, or nothing.
    private func dateLabel(_ week: [DayCount], isLast: Bool) -> String {
        guard let first = week.first?.day else { return "" }
        // The space after the last cell is outside the grid, and outside the terminal if the grid fills it.
        let isBeyond = isLast && width == options.columns
        let room = week.count * cellWidth - (isBeyond ? cellWidth - 1 : 0)
        let (_, month, day) = first.gregorian
        let candidates = ["\(Self.monthNames[month - 1]) \(day)", "\(day)"]
        let label = candidates.first { $0.utf8.count <= room } ?? ""
        return TerminalText.padded(label, toWidth: room)
    }

    /// Splits days into weeks.
    private static func weeks(_ days: some Sequence<DayCount>, firstWeekday: Int) -> [[DayCount]] {
        var weeks: [[DayCount]] = []
        for day in days {
            if weeks.isEmpty || day.day.weekday == firstWeekday { weeks.append([]) }
            weeks[weeks.count - 1].append(day)
        }
        return weeks
    }

    /// The width of weeks in columns, without the space after the last cell.
    private static func width(of weeks: [[DayCount]], cellWidth: Int) -> Int {
        let cells = weeks.reduce(0) { $0 + $1.count } + max(0, weeks.count - 1)
        return cells * cellWidth - (cellWidth - 1)
    }
}
