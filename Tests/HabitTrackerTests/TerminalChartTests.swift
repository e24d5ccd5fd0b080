import Foundation
import HabitStoreOperator
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreCommand

/// ``TerminalChart``.
@Suite
struct TerminalChartTests {
    /// Thirty days that end on Wednesday, 2024-01-31.
    private static func chart(
        name: String = "Run",
        unit: String? = "km",
        values: [Int: [Double?]],
        times: Int = 3,
        in days: Int = 7,
        firstWeekday: Int = 2,
        lastDays: Int = 30
    ) throws -> TerminalChart {
        var calendar = TestCalendars.greenwich
        calendar.firstWeekday = firstWeekday
        let entries = values.sorted { $0.key < $1.key }.flatMap { day, values in
            values.map { (date: TestCalendars.noon(day - 1), value: $0) }
        }
        return TerminalChart(
            name: name,
            unit: unit,
            schedule: try HabitSchedule(timesPerPeriod: times, periodDays: days),
            calendar: try HabitCalendar(
                lastDays: lastDays,
                endingOn: TestCalendars.noon(30),
                calendar: calendar,
                entries: entries
            )
        )
    }

    private static let runs: [Int: [Double?]] = [
        3: [1], 5: [2], 8: [3, 1], 13: [4.5], 14: [5], 20: [6], 22: [7], 25: [8], 27: [0.1], 29: [nil], 31: [2.25],
    ]

    @Test func aWideTerminalGetsTwoColumnsForADay() throws {
        let lines = try Self.chart(values: Self.runs).lines(TerminalOptions(columns: 80))
        #expect(
            lines == [
                "Run (km)                                          3 times in 7 days",
                "· ▁ · ▂ · · │ ▄ · · · · ▅ ▅ │ · · · · · ▆ · │ ▇ · · █ · ▁ · │ ▁ · ▃",
                "T W T F S S │ M T W T F S S │ M T W T F S S │ M T W T F S S │ M T W",
                "Jan 2       │ Jan 8         │ Jan 15        │ Jan 22        │ Jan 29",
                "last 30 days · 12 entries · 39.85 km · highest day 8 km · done on 11 days",
                "84% of the schedule",
            ]
        )
    }

    @Test func anAsciiTerminalGetsDigits() throws {
        let lines = try Self.chart(values: Self.runs).lines(TerminalOptions(columns: 40, isASCII: true))
        #expect(
            lines == [
                "Run (km)         3 times in 7 days",
                ".1.2..|4....55|.....6.|7..8.1.|1.3",
                "TWTFSS|MTWTFSS|MTWTFSS|MTWTFSS|MTW",
                "Jan 2 |Jan 8  |Jan 15 |Jan 22 |29",
                "last 30 days, 12 entries, 39.85 km",
                "highest day 8 km, done on 11 days",
                "84% of the schedule",
            ]
        )
        #expect(lines.allSatisfy { $0.utf8.count == $0.count })
    }

    @Test func withoutValuesABarIsTheNumberOfEntries() throws {
        let chart = try Self.chart(
            unit: nil,
            values: [29: [nil], 30: [nil, nil], 31: [nil, nil, nil, nil]],
            times: 2,
            in: 1,
            lastDays: 4
        )
        #expect(
            chart.lines(TerminalOptions(columns: 60)) == [
                "Run  2 times a day",
                "· │ ▂ ▄ █",
                "S │ M T W",
                "28│ Jan 29",
                "last 4 days · 7 entries · done on 3 days",
                "62% of the schedule",
            ]
        )
    }

    @Test func aNarrowTerminalGetsTheLatestDays() throws {
        let lines = try Self.chart(values: Self.runs).lines(TerminalOptions(columns: 12))
        #expect(
            lines == [
                "Run (km)",
                "3 times in …",
                "▇··█·▁·│▁·▃",
                "MTWTFSS│MTW",
                "Jan 22 │29",
                "last 30 days",
                "10 drawn",
                "12 entries",
                "39.85 km",
                "highest day…",
                "done on 11 …",
                "84% of the …",
            ]
        )
    }

    @Test func weeksBeginOnTheCalendarsFirstWeekday() throws {
        for (firstWeekday, letters) in [(1, "S │ S M T W"), (2, "S S │ M T W"), (4, "S S M T │ W")] {
            let lines = try Self.chart(values: [:], firstWeekday: firstWeekday, lastDays: 5).lines()
            #expect(lines[2] == letters)
        }
    }

    @Test func colorIsOnlyThereWhenAskedForAndChangesNothingElse() throws {
        let chart = try Self.chart(values: [30: [nil], 31: [nil, nil]], times: 2, in: 1)
        let plain = chart.text(TerminalOptions(columns: 80))
        let colored = chart.text(TerminalOptions(columns: 80, usesColor: true))
        #expect(!plain.contains("\u{1B}"))
        #expect(colored.contains("\u{1B}[33m▄\u{1B}[0m \u{1B}[32m█\u{1B}[0m"))
        #expect(colored.replacing(/\u{1B}\[\d+m/, with: "") == plain)
    }

    @Test func absurdValuesStillMakeAChart() throws {
        let most = Double.greatestFiniteMagnitude
        for values: [Double?] in [
            [most, most], [-most, -most], [-1], [.nan], [.infinity], [.leastNonzeroMagnitude], [0], [-0.0],
        ] {
            let chart = try Self.chart(values: [20: [1], 30: [-3, 1e-300], 31: values])
            let bars = chart.lines(TerminalOptions(columns: 80))[1]
            #expect(bars.count { ("▁"..."█").contains($0) } == 3, "\(values): \(bars)")
        }
    }

    /// The date below a last week of one day, "31" below a single bar, used to extend beyond a terminal that was just wide enough for the bars.
    @Test func theLastWeeksDateIsInsideTheTerminal() throws {
        let chart = try Self.chart(values: Self.runs, firstWeekday: 4)
        let wide = chart.lines()
        #expect(wide[1].hasSuffix("│ ▃") && wide[3].hasSuffix("│ 31"))
        let columns = displayWidth(of: wide[1])
        let exact = chart.lines(TerminalOptions(columns: columns))
        #expect(exact[1] == wide[1])
        #expect(exact[3].hasSuffix("│"))
        #expect(chart.lines(TerminalOptions(columns: columns - 1))[1] != wide[1])
    }

    @Test func noLineIsWiderThanTheTerminalOrDrivesIt() throws {
        let seed = SeededGenerator.printedSeed(#function, environment: ProcessInfo.processInfo.environment)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let chart = try Self.chart(
                name: RandomText.text(pieces: Int.random(in: 0...12, using: &generator), using: &generator),
                unit: RandomText.text(pieces: Int.random(in: 0...3, using: &generator), using: &generator),
                values: Self.runs,
                firstWeekday: Int.random(in: 1...7, using: &generator),
                lastDays: Int.random(in: 1...70, using: &generator)
            )
            let columns = Int.random(in: 1...120, using: &generator)
            for line in chart.lines(TerminalOptions(columns: columns, isASCII: Bool.random(using: &generator))) {
                #expect(displayWidth(of: line) <= columns, "\(columns): \(line)")
                #expect(!RandomText.hasControls(line))
            }
            #expect(!chart.lines().contains { RandomText.hasControls($0) })
        }
    }

    @Test func theScheduleEndsWhereTheBarsEndWhateverTheNamesWidth() throws {
        for name in ["Run", "走る", "🏃🏽‍♀️ Run", "שלום", "La\u{308}ufe", "हिन्दी", ""] {
            let lines = try Self.chart(name: name, values: Self.runs).lines(TerminalOptions(columns: 80))
            #expect(displayWidth(of: lines[0]) == displayWidth(of: lines[1]), "\(lines[0])")
        }
    }
}
