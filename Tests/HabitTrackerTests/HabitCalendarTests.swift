import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

/// ``HabitCalendar`` and its ``Completion``.
@Suite
struct HabitCalendarTests {
    /// A calendar of the last days in Greenwich, with the given numbers of entries, oldest day first.
    private static func calendar(_ counts: [Int]) throws -> HabitCalendar {
        let entries = counts.enumerated().flatMap { day, count in
            (0..<count).map { _ in (date: TestCalendars.noon(day), value: Double?.none) }
        }
        return try HabitCalendar(
            lastDays: counts.count,
            endingOn: TestCalendars.noon(counts.count - 1),
            calendar: TestCalendars.greenwich,
            entries: entries
        )
    }

    private static func percent(_ counts: [Int], _ times: Int, _ days: Int, since index: Int? = nil) throws -> Int? {
        let calendar = try calendar(counts)
        let schedule = try HabitSchedule(timesPerPeriod: times, periodDays: days)
        return calendar.completion(of: schedule, since: index.map { calendar.days[$0].day })?.percent
    }

    @Test func daysAndSumsAreThoseOfADayByDayCount() throws {
        let seed = SeededGenerator.printedSeed(#function, environment: ProcessInfo.processInfo.environment)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let example = try StreakCase(periods: [1], using: &generator)
            let entries = example.entries.map { date in
                (
                    date: date,
                    value: Bool.random(using: &generator) ? Double(Int.random(in: -9...9, using: &generator)) : nil
                )
            }
            let lastDays = Int.random(in: 1...20, using: &generator)
            let calendar = try HabitCalendar(
                lastDays: lastDays,
                endingOn: example.now,
                calendar: example.calendar,
                entries: entries
            )
            let dates = WallDates(
                from: example.center - 40 * 86_400,
                through: example.center + 40 * 86_400,
                calendar: example.calendar
            )
            let today = try #require(dates.index(of: example.now))
            let existing = dates.labels[...today].filter { dates.existing.contains($0) }.suffix(lastDays)
            #expect(
                calendar.days.map { [$0.day.gregorian.year, $0.day.gregorian.month, $0.day.gregorian.day] }
                    == existing.map { [$0.year, $0.month, $0.day] },
                "\(example)"
            )
            for (day, label) in zip(calendar.days, existing) {
                let own = try entries.filter { dates.labels[try #require(dates.index(of: $0.date))] == label }
                #expect(day.count == own.count, "\(example)")
                #expect(day.valueCount == own.count { $0.value != nil }, "\(example)")
                #expect(day.valueSum == own.reduce(0) { $0 + ($1.value ?? 0) }, "\(example)")
            }
        }
    }

    @Test func absurdValuesAndDatesDoNoHarm() throws {
        let now = TestCalendars.noon(9)
        let values: [Double] = [.nan, .infinity, -.infinity, .greatestFiniteMagnitude, .greatestFiniteMagnitude]
        var entries = values.map { (date: now, value: Double?.some($0)) }
        for second in [Double.nan, .infinity, 1e300, -1e300] {
            entries.append((Date(timeIntervalSinceReferenceDate: second), 1))
        }
        entries += [(.distantFuture, 1), (.distantPast, 1)]
        let calendar = try HabitCalendar(
            lastDays: 30,
            endingOn: now,
            calendar: TestCalendars.greenwich,
            entries: entries
        )
        #expect(calendar.count == 5)
        #expect(calendar.valueCount == 2)
        #expect(calendar.valueSum == .greatestFiniteMagnitude)
    }

    @Test func aNumberOfDaysOutsideTheLimitIsRefused() {
        for days in [0, -1, Int.min, Int.max, HabitCalendar.maximumDays + 1] {
            #expect(throws: HabitTrackingError.invalidDayCount(days)) {
                try HabitCalendar(
                    lastDays: days,
                    endingOn: TestCalendars.noon(0),
                    calendar: TestCalendars.greenwich,
                    entries: []
                )
            }
        }
        #expect(throws: HabitTrackingError.dateOutOfRange) {
            try HabitCalendar(
                lastDays: 1,
                endingOn: Date(timeIntervalSince1970: .nan),
                calendar: TestCalendars.greenwich,
                entries: []
            )
        }
    }

    @Test func todayAsksForNothingUntilItIsDone() throws {
        #expect(try Self.percent([1, 1, 1, 0], 1, 1) == 100)
        #expect(try Self.percent([1, 1, 0, 1], 1, 1) == 75)
        #expect(try Self.percent([1, 1, 0, 0], 1, 1) == 66)
        #expect(try Self.percent([0], 1, 1) == nil)
    }

    @Test func moreThanABlockAsksForDoesNotMakeUpForAnother() throws {
        #expect(try Self.percent([9, 0, 0, 1], 1, 1) == 50)
        // Blocks of two days, counted back: 0 and 5, 0 and 0, 1 and 1.
        #expect(try Self.percent([0, 5, 0, 0, 1, 1], 2, 2) == 66)
    }

    @Test func aShorterBlockAsksForItsShare() throws {
        // Twice in four days: the two days before the last four ask for one.
        #expect(try Self.percent([1, 0, 1, 0, 0, 1], 2, 4) == 100)
        #expect(try Self.percent([0, 0, 1, 0, 0, 1], 2, 4) == 66)
        #expect(try Self.percent([0, 1], 1, .max) == 100)
    }

    @Test func daysBeforeTheHabitBeganAskForNothing() throws {
        #expect(try Self.percent([0, 0, 1, 1], 1, 1, since: 2) == 100)
        #expect(try Self.percent([0, 0, 1, 1], 1, 1) == 50)
        // An entry before the habit was created counts, and so do the days from it on.
        #expect(try Self.percent([0, 1, 0, 1], 1, 1, since: 3) == 66)
        #expect(try Self.percent([0, 0, 0, 0], 1, 1, since: 3) == nil)
    }

    @Test func oneHundredPercentMeansEverything() throws {
        let counts = [Int](repeating: 1, count: 1_000)
        #expect(try Self.percent(counts, 1, 1) == 100)
        #expect(try Self.percent([0] + counts, 1, 1) == 99)
        #expect(try Self.percent([Int](repeating: 3, count: 30), 3, 7) == 100)
    }
}
