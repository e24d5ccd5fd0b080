import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

/// ``LocalDay`` compared with `Calendar`.
@Suite
struct LocalDayTests {
    @Test func dateAndWeekdayAreThoseOfTheCalendar() throws {
        let seed = SeededGenerator.printedSeed(#function, environment: ProcessInfo.processInfo.environment)
        var generator = SeededGenerator(seed: seed)
        // `iso8601` is Gregorian also before 1582, as `LocalDay` is; it counts years before year 1 differently.
        for oddity in TestCalendars.oddities {
            var calendar = Calendar(identifier: .iso8601)
            calendar.timeZone = try #require(TimeZone(identifier: oddity.zone))
            let center = try TestCalendars.date(oddity.near).timeIntervalSince1970
            for _ in 0..<400 {
                let isNear = Bool.random(using: &generator)
                let second =
                    isNear
                    ? center + Double.random(in: -172_800...172_800, using: &generator).rounded()
                    : Double.random(in: -12_000_000_000...64_000_000_000, using: &generator).rounded()
                let date = Date(timeIntervalSince1970: second)
                let day = try #require(LocalDay(containing: date, in: calendar.timeZone))
                let parts = calendar.dateComponents([.year, .month, .day, .weekday], from: date)
                let (year, month, dayOfMonth) = day.gregorian
                #expect([year, month, dayOfMonth, day.weekday] == [parts.year, parts.month, parts.day, parts.weekday])
                #expect(!day.isSkipped(in: calendar.timeZone), "\(day) \(oddity.zone)")
            }
        }
    }

    @Test(arguments: [
        ("Pacific/Apia", "2011-12-30"), ("Pacific/Fakaofo", "2011-12-30"), ("Pacific/Kwajalein", "1993-08-21"),
        ("Pacific/Kiritimati", "1994-12-31"),
    ])
    func onlyTheDateThatTheZoneSkippedIsSkipped(_ zone: String, _ skipped: String) throws {
        let timeZone = try #require(TimeZone(identifier: zone))
        let midnight = try TestCalendars.date("\(skipped)T00:00:00Z")
        let middle = try #require(LocalDay(containing: midnight, in: .gmt))
        #expect(middle.description == skipped)
        let found = (-400...400).compactMap { LocalDay(number: middle.number + $0) }.filter {
            $0.isSkipped(in: timeZone)
        }
        #expect(found == [middle])
        let noneInGreenwich = (-400...400).compactMap { LocalDay(number: middle.number + $0) }
        #expect(!noneInGreenwich.contains { $0.isSkipped(in: .gmt) })
    }

    @Test func theLastInstantBeforeMidnightIsStillThatDay() throws {
        let midnight = try TestCalendars.date("2024-05-02T00:00:00Z")
        let before = Date(timeIntervalSinceReferenceDate: midnight.timeIntervalSinceReferenceDate.nextDown)
        #expect(LocalDay(containing: before, in: .gmt)?.description == "2024-05-01")
        #expect(LocalDay(containing: midnight, in: .gmt)?.description == "2024-05-02")
    }

    @Test func numbersRunThroughYearsLeapDaysAndEras() throws {
        #expect(LocalDay(number: 0)?.description == "1970-01-01")
        #expect(LocalDay(number: -719_468)?.description == "0000-03-01")
        #expect(LocalDay(number: -719_469)?.description == "0000-02-29")
        #expect(LocalDay(number: 11_016)?.description == "2000-02-29")
        #expect(LocalDay(number: -719_529)?.description == "-0001-12-31")
    }

    @Test func aDateOnNoDayIsNil() {
        for second in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 6.4e12, -6.4e12] {
            #expect(LocalDay(containing: Date(timeIntervalSinceReferenceDate: second), in: .gmt) == nil)
        }
        #expect(LocalDay(containing: .distantFuture, in: .gmt)?.description == "4001-01-01")
        #expect(LocalDay(number: LocalDay.supportedNumbers.upperBound + 1) == nil)
    }
}
