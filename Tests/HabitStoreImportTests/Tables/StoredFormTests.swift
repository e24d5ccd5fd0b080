import Foundation
import HabitStoreTesting
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreImport

/// What is stored, and what it means.
@Suite struct StoredFormTests {
    private static func seconds(_ seconds: Double) -> Value { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

    private static let id = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")

    static let values: [(String, SourceValue, AttributeKind, Value?)] = [
        ("text", .text("a"), .string, .string("a")), ("text", .int(1), .string, nil),
        ("text", .malformedText(Data([0xff])), .string, nil),
        ("integer", .int(9_007_199_254_740_993), .int, .int(9_007_199_254_740_993)), ("integer", .text("1"), .int, nil),
        ("real", .int(9_007_199_254_740_993), .double, nil), ("real", .real(.infinity), .double, nil),
        ("boolean", .int(1), .bool, .bool(true)), ("boolean", .int(2), .bool, nil), ("boolean", .text("1"), .bool, nil),
        ("seconds 1970", .int(978_307_200), .date, seconds(0)), ("seconds 1970", .text("978307200"), .date, nil),
        ("milliseconds 1970", .int(978_307_200_125), .date, seconds(0.125)),
        ("nanoseconds 1970", .int(978_307_200_000_000_000), .date, seconds(0)),
        ("days 1970", .int(11_323), .date, seconds(0)), ("seconds 2001", .real(-0.5), .date, seconds(-0.5)),
        ("julian days", .real(2_451_910.5), .date, seconds(0)),
        ("date grdb", .text("2001-01-01 00:00:01.500"), .date, seconds(1.5)),
        ("date grdb", .text("2001-01-01 00:00:01"), .date, nil),
        ("date iso8601", .text("2001-01-01T02:00:00+02:00"), .date, seconds(0)),
        ("date yyyyMMdd", .int(20_010_102), .date, seconds(86_400)),
        ("date dd.MM.yyyy", .text("31.02.2001"), .date, nil),
        ("date dd.MM.yyyy", .text("2.1.2001"), .date, nil), ("date yyyy-MM-dd", .text("1900-02-29"), .date, nil),
        ("uuid", .text("{6ba7b8109dad11d180b400c04fd430c8}"), .uuid, id.map { .uuid($0) }),
        ("uuid", .text("no"), .uuid, nil),
        ("uuid bytes", .blob(Data(repeating: 0, count: 15)), .uuid, nil),
        ("json", .text("[\"a\", \"b\"]"), .strings, .strings(["a", "b"])), ("json", .text("[1]"), .strings, nil),
        ("json", .text("{"), .data, nil), ("json", .text("{\"a\":1}"), .data, .data(Data("{\"a\":1}".utf8))),
        ("decimal", .text("12.5"), .data, .data(Data("12.5".utf8))), ("decimal", .text("12,5"), .data, nil),
        ("decimal", .text("1e3"), .data, nil), ("minor units 2", .int(-1_250), .data, .data(Data("-12.5".utf8))),
        ("date grdb or seconds 1970", .int(978_307_200), .date, seconds(0)),
        ("date grdb or seconds 1970", .text("2001-01-01 00:00:01.500"), .date, seconds(1.5)),
        ("date grdb or seconds 1970", .text("978307200"), .date, nil),
        // The fourth of May, and the fifth of April.
        ("date dd/MM/yyyy or date MM/dd/yyyy", .text("04/05/2001"), .date, nil),
        ("date dd/MM/yyyy or date MM/dd/yyyy", .text("01/01/2001"), .date, seconds(0)),
    ]

    @Test(arguments: 0..<values.count) func aValueHasItsFormOrIsRefused(row: Int) throws {
        let (name, stored, kind, value) = Self.values[row]
        let form = try #require(StoredForm(name))
        #expect(form.name == name)
        #expect(form.value(stored, as: kind) == value, "\(name) \(stored)")
    }

    @Test func namesThatSayTwoThingsAreNone() {
        for name in [
            "date yy-MM-dd", "date HH:mm", "date yyyy-MM", "seconds 1980", "weeks 1970", "uuid upper", "minor units 19",
            "", "seconds 1970 or text", "date grdb or", "seconds 1970 or ",
        ] {
            #expect(StoredForm(name) == nil, "\(name)")
        }
        for name in StoredForm.names { #expect(StoredForm(name)?.name == name) }
    }

    /// SQLite's date functions know nothing of our patterns.
    @Test func instantsAreThoseOfSQLite() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let database = try RawDatabase(path: folder.path("dates.sqlite"))
        let pattern = try #require(DatePattern("yyyy-MM-dd HH:mm:ss"))
        for _ in 0..<2_000 {
            let seconds = Int.random(in: -62_135_596_800...253_402_300_799, using: &random)
            let text = try #require(try database.run("SELECT datetime(\(seconds), 'unixepoch')").first)
            let date = try #require(pattern.date(text), "\(text), seed \(seed)")
            #expect(Int(date.timeIntervalSince1970) == seconds, "\(text), seed \(seed)")
            #expect(pattern.text(date) == text, "seed \(seed)")
        }
    }

    @Test func whatIsWrittenIsWhatWasRead() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for name in StoredForm.names {
            let form = try #require(StoredForm(name))
            guard form.kinds == [.date], form != .julianDays, !name.hasPrefix("nanoseconds"),
                !name.hasPrefix("microseconds")
            else { continue }
            for _ in 0..<200 {
                // A fraction of a day is not always the double that its seconds give.
                let whole = name.hasPrefix("days") ? 86_400_000 : 1
                let seconds = Double(Int.random(in: 0...(1_500_000_000_000 / whole), using: &random) * whole) / 1_000
                let date = Date(timeIntervalSinceReferenceDate: seconds)
                let stored = try #require(form.stored(.date(date)), "\(name)")
                let read = try #require(form.value(stored, as: .date), "\(name) \(stored), seed \(seed)")
                #expect(form.stored(read) == stored, "\(name), seed \(seed)")
            }
        }
    }
}
