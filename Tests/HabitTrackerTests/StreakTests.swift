import Foundation
import HabitTracker
import Testing

/// The rules of ``Streaks``, one by one.
@Suite
struct StreakTests {
    private static func schedule(_ times: Int, in days: Int) throws -> HabitSchedule {
        try HabitSchedule(timesPerPeriod: times, periodDays: days)
    }

    /// Entries at noon in Greenwich, by days since 2024-01-01.
    private static func streaks(
        _ days: [Int],
        _ schedule: HabitSchedule = .daily,
        today: Int,
        anchor: Int? = nil
    ) -> [Int] {
        let streaks = Streaks.compute(
            entryDates: days.map(TestCalendars.noon),
            schedule: schedule,
            calendar: TestCalendars.greenwich,
            now: TestCalendars.noon(today),
            anchor: anchor.map(TestCalendars.noon)
        )
        return [streaks.current, streaks.longest]
    }

    @Test func withoutEntriesThereIsNoStreak() {
        #expect(Self.streaks([], today: 5) == [0, 0])
    }

    @Test func todayBreaksNothingUntilItIsOver() {
        #expect(Self.streaks([1, 2, 3], today: 3) == [3, 3])
        #expect(Self.streaks([1, 2, 3], today: 4) == [3, 3])
        #expect(Self.streaks([1, 2, 3], today: 5) == [0, 3])
    }

    @Test func aDayWithTooFewEntriesBreaksTheStreak() throws {
        let twice = try Self.schedule(2, in: 1)
        #expect(Self.streaks([1, 1, 2, 2, 3, 4, 4], twice, today: 4) == [1, 2])
        #expect(Self.streaks([1, 1, 2, 2, 3], twice, today: 3) == [2, 2])
    }

    @Test func windowsBeginOnTheAnchorAndStayThere() throws {
        let weekly = try Self.schedule(1, in: 7)
        // Windows 0–6, 7–13, 14–20: kept, kept, running.
        #expect(Self.streaks([6, 7], weekly, today: 20, anchor: 0) == [2, 2])
        #expect(Self.streaks([6, 7], weekly, today: 21, anchor: 0) == [0, 2])
        // Windows 3–9: both entries are in one.
        #expect(Self.streaks([6, 7], weekly, today: 10, anchor: 3) == [1, 1])
        // Entries before the anchor are in windows too: −7 to −1.
        #expect(Self.streaks([-1, 0], weekly, today: 3, anchor: 0) == [2, 2])
        #expect(Self.streaks([-8, 0], weekly, today: 3, anchor: 0) == [1, 1])
    }

    @Test func withoutAnAnchorTheFirstEntryIsTheAnchor() throws {
        let weekly = try Self.schedule(2, in: 7)
        // Windows 3–9 and 10–16.
        #expect(Self.streaks([3, 9, 10, 16], weekly, today: 17) == [2, 2])
        // An older entry moves them: −5–1, 2–8, 9–15, 16–22.
        #expect(Self.streaks([-5, 3, 9, 10, 16], weekly, today: 17) == [1, 1])
        // With an anchor it does not.
        #expect(Self.streaks([-5, 3, 9, 10, 16], weekly, today: 17, anchor: 3) == [2, 2])
    }

    @Test func entriesOnLaterDaysCountInNeitherStreak() {
        #expect(Self.streaks([1, 2, 3, 4, 5], today: 2) == [2, 2])
        #expect(Self.streaks([4, 5], today: 2) == [0, 0])
    }

    @Test func anEntryLaterTodayCounts() throws {
        let now = try TestCalendars.date("2024-05-01T06:00:00Z")
        let streaks = Streaks.compute(
            entryDates: [now + 12 * 3_600, now + 24 * 3_600],
            schedule: .daily,
            calendar: TestCalendars.greenwich,
            now: now
        )
        #expect(streaks.current == 1)
        #expect(streaks.longest == 1)
    }

    @Test func theDayIsTheOneOfTheZoneAndNotGreenwichs() throws {
        // In Greenwich on the 1st and the 2nd; in Tokyo at 23:30 on the 1st and 00:30 on the 3rd.
        let dates = try [TestCalendars.date("2024-05-01T14:30:00Z"), TestCalendars.date("2024-05-02T15:30:00Z")]
        let now = try TestCalendars.date("2024-05-02T16:00:00Z")
        func longest(_ zone: String) throws -> Int {
            let calendar = try TestCalendars.calendar(zone)
            return Streaks.compute(entryDates: dates, schedule: .daily, calendar: calendar, now: now).longest
        }
        #expect(try longest("GMT") == 2)
        #expect(try longest("Asia/Tokyo") == 1)
    }

    @Test func aDateThatTheZoneSkippedBreaksNoStreak() throws {
        let calendar = try TestCalendars.calendar("Pacific/Apia")
        // The 29th at noon, then the 31st at noon: there was no 30th.
        let dates = try [TestCalendars.date("2011-12-29T22:00:00Z"), TestCalendars.date("2011-12-30T22:00:00Z")]
        let streaks = Streaks.compute(entryDates: dates, schedule: .daily, calendar: calendar, now: dates[1])
        #expect(streaks.current == 2)
        let notYet = Streaks.compute(entryDates: [dates[0]], schedule: .daily, calendar: calendar, now: dates[1])
        #expect(notYet.current == 1)
        let broken = Streaks.compute(
            entryDates: [dates[0]],
            schedule: .daily,
            calendar: calendar,
            now: dates[1] + 86_400
        )
        #expect(broken.current == 0)
        let twoDaysBefore = Streaks.compute(
            entryDates: [dates[0] - 86_400, dates[1]],
            schedule: .daily,
            calendar: calendar,
            now: dates[1]
        )
        #expect(twoDaysBefore.longest == 1)
    }

    @Test func absurdDatesNeitherHangNorOverflow() throws {
        let absurd: [Double] = [
            0, -1e11, 1e11, 6.4e12, -6.4e12, 1e300, -1e300, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
            9.3e18, -9.3e18, 1e-300,
        ]
        let yearMinus4000 = Date(timeIntervalSince1970: -188_000_000_000)
        let dates =
            absurd.map { Date(timeIntervalSinceReferenceDate: $0) } + [.distantFuture, .distantPast, yearMinus4000]
        let schedules = [
            HabitSchedule.daily, try Self.schedule(1, in: 7), try Self.schedule(1, in: .max),
            try Self.schedule(.max, in: 1),
            try Self.schedule(.max, in: .max),
        ]
        for zone in ["GMT", "Pacific/Apia"] {
            let calendar = try TestCalendars.calendar(zone)
            for schedule in schedules {
                for now in dates {
                    for anchor in [nil] + dates {
                        let streaks = Streaks.compute(
                            entryDates: dates,
                            schedule: schedule,
                            calendar: calendar,
                            now: now,
                            anchor: anchor
                        )
                        #expect(streaks.current <= streaks.longest)
                    }
                }
            }
        }
        let calendar = try TestCalendars.calendar("GMT")
        let streaks = Streaks.compute(
            entryDates: dates + (0..<4).map(TestCalendars.noon),
            schedule: .daily,
            calendar: calendar,
            now: TestCalendars.noon(3)
        )
        #expect(streaks.current == 4)
        #expect(streaks.longest == 4)
    }

    @Test func aNowThatIsOnNoDayGivesNoStreak() {
        let streaks = Streaks.compute(
            entryDates: [TestCalendars.noon(0)],
            schedule: .daily,
            calendar: TestCalendars.greenwich,
            now: Date(timeIntervalSince1970: .nan)
        )
        #expect(streaks.longest == 0)
    }

    @Test func theUnitIsTheSchedulesPeriod() throws {
        #expect(StreakUnit(.daily).phrase(1) == "1 day")
        #expect(StreakUnit(.daily).phrase(0) == "0 days")
        #expect(StreakUnit(try Self.schedule(3, in: 7)).phrase(2) == "2 weeks")
        #expect(StreakUnit(try Self.schedule(2, in: 30)).phrase(1) == "1 period of 30 days")
    }

    @Test func aScheduleBelowOneIsRefused() throws {
        for (times, days) in [(0, 1), (1, 0), (-3, 7), (Int.min, Int.min)] {
            #expect(throws: HabitTrackingError.invalidSchedule(timesPerPeriod: times, periodDays: days)) {
                try HabitSchedule(timesPerPeriod: times, periodDays: days)
            }
        }
        #expect(try Self.schedule(8, in: 1).description == "8 times a day")
        #expect(try Self.schedule(1, in: 2).description == "once in 2 days")
        #expect(try Self.schedule(1, in: 1) == .daily)
    }
}
