import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreCommand
@testable import HabitStoreOperator

/// Parsing and formatting of dates, and references to records.
struct SupportTests {
    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "Europe/Berlin") ?? .gmt
        return calendar
    }

    /// 2026-07-15 21:30 in Berlin.
    private let now = Date(timeIntervalSince1970: 1_784_143_800)

    @Test(arguments: [
        ("today", "2026-07-15T19:30:00.000Z"), ("Yesterday", "2026-07-14T19:30:00.000Z"),
        ("2026-07-15", "2026-07-15T19:30:00.000Z"), ("2026-07-14", "2026-07-14T10:00:00.000Z"),
        ("2026-01-31", "2026-01-31T11:00:00.000Z"), ("2026-01-31T08:30", "2026-01-31T07:30:00.000Z"),
        ("2026-01-31 08:30:15", "2026-01-31T07:30:15.000Z"), ("2026-01-31T08:30:00Z", "2026-01-31T08:30:00.000Z"),
        ("2026-01-31T08:30:00.25+02:00", "2026-01-31T06:30:00.250Z"), ("1901-12-13", "1901-12-13T11:00:00.000Z"),
        ("4001-01-01", "4001-01-01T11:00:00.000Z"),
        // A wall-clock time that the change to summer time skipped means the next one.
        ("2026-03-29T02:30", "2026-03-29T01:30:00.000Z"),
    ])
    func aTypedDateIsTheInstantThatAPersonMeans(text: String, expected: String) throws {
        let date = try DateArgument.parse(text, now: now, calendar: calendar)
        #expect(ISODate.instant(date) == expected)
    }

    @Test func anInstantIsWrittenInEveryYear() {
        #expect(ISODate.instant(Date(timeIntervalSince1970: -0.5)) == "1969-12-31T23:59:59.500Z")
        #expect(ISODate.instant(Date(timeIntervalSinceReferenceDate: 0.0009)) == "2001-01-01T00:00:00.000Z")
        #expect(ISODate.instant(.distantFuture) == "4001-01-01T00:00:00.000Z")
        #expect(ISODate.instant(Date(timeIntervalSinceReferenceDate: 1e300)) == "date(1e+300)")
        #expect(ISODate.local(now, in: calendar.timeZone) == "2026-07-15 21:30")
    }

    @Test func whatAnInstantIsWrittenAsIsReadBack() throws {
        // Steps without a common factor with a day, from year 36 to year 8338.
        for milliseconds in stride(from: -62_000_000_000_000, through: 200_000_000_000_000, by: 262_000_000_007) {
            let date = Date(timeIntervalSinceReferenceDate: Double(milliseconds) / 1_000)
            let text = ISODate.instant(date)
            let read = try #require(TextDate.parse(text), "\(text)")
            #expect(abs(read.timeIntervalSince(date)) <= 2 * date.timeIntervalSinceReferenceDate.ulp, "\(milliseconds)")
        }
    }

    @Test func aBeginningOfAnIdentifierIsTheRangeOfThoseThatBeginSo() throws {
        var asked: FilterExpression?
        let id = UUID()
        let found = try RecordReference(text: "ABcd1", what: "habit").resolve { condition in
            asked = condition
            return [.init(id: id, name: "")]
        }
        #expect(found == id)
        let first = try #require(UUID(uuidString: "ABCD1000-0000-0000-0000-000000000000"))
        let last = try #require(UUID(uuidString: "ABCD1FFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"))
        let attribute = FilterExpression.attribute(AttributePath("id"))
        #expect(
            asked
                == .and([
                    .compare(.greaterOrEqual, attribute, .literal(.uuid(first))),
                    .compare(.lessOrEqual, attribute, .literal(.uuid(last))),
                ])
        )
    }

    @Test(arguments: ["abc", "xyzw", "", "abcd-efgh", "٣٣٣٣", String(repeating: "a", count: 33)])
    func whatIsNoBeginningOfAnIdentifierIsNotLookedFor(text: String) {
        #expect(throws: CommandFailure.self) {
            _ = try RecordReference(text: text, what: "habit").resolve { _ in
                Issue.record("it was looked for")
                return []
            }
        }
    }

    @Test func severalRecordsAreNeverGuessedBetween() throws {
        let ids = (0..<3).map { _ in UUID() }
        let error = #expect(throws: CommandFailure.self) {
            _ = try RecordReference(text: "Run", what: "habit").resolve(
                byName: ids.map { .init(id: $0, name: "Run") },
                byIdentifier: { _ in [] }
            )
        }
        for id in ids { #expect(error?.message.contains(RecordReference.short(id)) == true) }
        #expect(error?.status == .usage)
    }
}
