import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore chart HABIT`.
struct ChartCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "chart",
        abstract: "Draws the last days of a habit."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(parsing: .unconditional, help: "How many days.")
    var days = 30

    @Flag(help: "Draw with ASCII characters only.")
    var ascii = false

    func validate() throws {
        guard (1...HabitCalendar.maximumDays).contains(days) else {
            throw ValidationError("--days must be from 1 to \(HabitCalendar.maximumDays)")
        }
    }

    func run() async throws {
        var habitID: UUID?
        try await watching.show(userOptions, recording) { try answer($0, &habitID) }
    }

    /// - Parameter habitID: the habit found by the first answer; set if it is nil.
    private func answer(_ tracker: Tracker, _ habitID: inout UUID?) throws -> Answer {
        let (habit, entries) = try tracker.read { transaction in
            let habit = try transaction.habit(self.habit, knownBy: &habitID)
            return (habit, try transaction.entries(of: habit.id))
        }
        let calendar = try HabitCalendar(
            lastDays: days,
            endingOn: tracker.now,
            calendar: tracker.calendar,
            entries: entries.map { (date: $0.date, value: $0.value) }
        )
        let streaks = habit.streaks(entries.map(\.date), calendar: tracker.calendar, now: tracker.now)
        return output.answer(json(habit, calendar, streaks)) {
            let chart = TerminalChart(
                name: habit.name,
                unit: habit.unit,
                schedule: habit.schedule,
                calendar: calendar,
                began: LocalDay(containing: habit.createdAt, in: tracker.timeZone)
            )
            let line =
                "current streak \(streaks.unit.phrase(streaks.current)), "
                + "longest \(streaks.unit.phrase(streaks.longest))\n"
            return chart.text(Terminal.options(isASCII: ascii)) + line
        }
    }

    private func json(_ habit: Habit, _ calendar: HabitCalendar, _ streaks: Streaks) -> JSONObject {
        [
            "habit": habit.name,
            "habitID": habit.id.uuidString,
            "unit": habit.unit,
            "currentStreak": streaks.current,
            "longestStreak": streaks.longest,
            "days": calendar.days.map { day in
                [
                    "day": day.day.description,
                    "count": day.count,
                    "valueCount": day.valueCount,
                    "valueSum": day.valueSum,
                ] as JSONObject
            },
        ]
    }
}

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

extension Double {
    /// The number for people: at most two decimals and none if they are zero ("52.5", "3"), and unrounded if two decimals would show zero or the
    /// number is too large ("0.001", "1e+300").
    var shortText: String {
        guard isFinite, magnitude < 1e15 else { return "\(self)" }
        let rounded = (self * 100).rounded() / 100
        if rounded == 0, self != 0 { return "\(self)" }
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
