import HabitStoreReports
import HabitTracker

/// The last days of a habit as a text chart.
///
/// ```
/// Run (km)                                          3 times in 7 days
/// · ▁ · ▂ · · │ ▄ · · · · ▅ ▅ │ · · · · · ▆ · │ ▇ · · █ · ▁ · │ ▁ · ▃
/// T W T F S S │ M T W T F S S │ M T W T F S S │ M T W T F S S │ M T W
/// Jan 2       │ Jan 8         │ Jan 15        │ Jan 22        │ Jan 29
/// last 30 days · 12 entries · 39.85 km · highest day 8 km · done on 11 days
/// 84% of the schedule
/// ```
///
/// The height of a bar is the day's sum of values relative to the highest day's; if no entry has a value, it is the number of entries. In ASCII a bar
/// is a digit, its height from 1 to 8. A day without entries is a dot; any entry shows at least as the lowest bar. Below are the days of the week and
/// the first date of each week; weeks begin on the calendar's first weekday. If the terminal is too narrow for all days, the oldest are left out, and
/// a line says so.
public struct TerminalChart: Sendable {
    /// The habit's name.
    public var name: String
    /// The unit of its values.
    public var unit: String?
    /// How often the habit should be done.
    public var schedule: HabitSchedule
    /// The entries.
    public var calendar: HabitCalendar
    /// The first day on which it should be done; see ``HabitCalendar/completion(of:since:)``.
    public var began: LocalDay?

    /// Describes a chart.
    public init(
        name: String,
        unit: String? = nil,
        schedule: HabitSchedule,
        calendar: HabitCalendar,
        began: LocalDay? = nil
    ) {
        self.name = name
        self.unit = unit
        self.schedule = schedule
        self.calendar = calendar
        self.began = began
    }

    /// The chart's lines; none is wider than the terminal.
    public func lines(_ options: TerminalOptions = TerminalOptions()) -> [String] {
        let grid = ChartGrid(calendar: calendar, schedule: schedule, options: options)
        return header(width: grid.width, options: options)
            + grid.lines()
            + wrapped(summary(drawnDays: grid.drawnDays), options: options)
    }

    /// The lines, each terminated by a line feed.
    public func text(_ options: TerminalOptions = TerminalOptions()) -> String {
        lines(options).reduce(into: "") { $0 += $1 + "\n" }
    }

    /// Name and unit on the left, the schedule on the right, or below if both do not fit.
    private func header(width: Int, options: TerminalOptions) -> [String] {
        let unitPart = shownUnit.map { " (\($0))" } ?? ""
        let left = TerminalText.escaped(name) + unitPart
        let right = schedule.description
        let textWidth = displayWidth(of: left) + displayWidth(of: right)
        let columns = options.columns ?? .max
        if textWidth + 2 <= columns {
            let between = max(2, width - textWidth)
            return [left + String(repeating: " ", count: between) + right]
        }
        return [left, right].map { TerminalText.truncated($0, toWidth: columns, ellipsis: options.ellipsis) }
    }

    /// The totals of the chart, in phrases.
    private func summary(drawnDays: Int) -> [String] {
        let days = calendar.days.count
        var parts = [days == 1 ? "today" : "last \(days) days"]
        if drawnDays < days { parts.append("\(drawnDays) drawn") }
        let count = calendar.count
        parts.append(count.counted("entry", plural: "entries"))
        if calendar.valueCount > 0 {
            parts.append(shownUnit == nil ? "sum \(amount(calendar.valueSum))" : amount(calendar.valueSum))
            if let highest = calendar.days.filter({ $0.valueCount > 0 }).map(\.valueSum).max() {
                parts.append("highest day \(amount(highest))")
            }
        }
        let daysDone = calendar.days.count { $0.count > 0 }
        parts.append(daysDone == 1 ? "done on 1 day" : "done on \(daysDone) days")
        if let completion = calendar.completion(of: schedule, since: began) {
            parts.append("\(completion.percent)% of the schedule")
        }
        return parts
    }

    private var shownUnit: String? {
        guard let unit, !unit.isEmpty else { return nil }
        return TerminalText.escaped(unit)
    }

    private func amount(_ value: Double) -> String {
        value.shortText + (shownUnit.map { " \($0)" } ?? "")
    }

    /// Puts as many phrases on a line as fit.
    private func wrapped(_ parts: [String], options: TerminalOptions) -> [String] {
        let separator = options.isASCII ? ", " : " · "
        var lines: [String] = []
        var line = ""
        for part in parts {
            let longer = line.isEmpty ? part : line + separator + part
            if !line.isEmpty, let columns = options.columns, displayWidth(of: longer) > columns {
                lines.append(line)
                line = part
            } else {
                line = longer
            }
        }
        lines.append(line)
        guard let columns = options.columns else { return lines }
        return lines.map { TerminalText.truncated($0, toWidth: columns, ellipsis: options.ellipsis) }
    }
}
