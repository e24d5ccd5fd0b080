import Foundation
import JSONText
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// `23:59:59.999999999` was rounded up to midnight, so that entries moved to the next day, "verified": reader and tally rounded alike.
struct EndOfDayTests {
    @Test(arguments: ["", ".9", ".999999", ".9999999", ".999999999"], ["Z", "+01:00", "-09:30"])
    func theLastMomentOfADayIsOnThatDay(fraction: String, offset: String) throws {
        let text = JSON.string("2026-01-02T23:59:59\(fraction)\(offset)")
        let seconds = ["Z": 0, "+01:00": 3_600, "-09:30": -34_200][offset] ?? 0
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: seconds))
        guard case .instant(let date) = TableValue.moment(text, nil) else {
            Issue.record("no instant")
            return
        }
        #expect(calendar.component(.day, from: date) == 2)
        #expect(date < Date(timeIntervalSince1970: 1_767_398_400 - Double(seconds)))
        #expect(TableTally.day(text, nil, calendar) == "2026-01-02")
    }
}
