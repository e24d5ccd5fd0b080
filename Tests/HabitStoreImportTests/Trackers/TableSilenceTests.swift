import Foundation
import HabitStore
import HabitTracker
import JSONText
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Values of mapped files that were silently dropped or changed, with a report that said "verified".
@Suite struct TableSilenceTests {
    private func log(_ entry: String, _ attributes: String, _ timeZone: String) throws -> TrackerSandbox {
        let sandbox = try TrackerSandbox(timeZone: timeZone)
        try sandbox.folder.write("x.json", #"{"habits": [{"name": "A", "log": [\#(entry)]}]}"#)
        let mapping = """
            {"format": 1, "entities": [{"source": "habits", "target": "Habit", "attributes": {"name": "name"}},
              {"source": "habits.log", "target": "Entry", "attributes": \(attributes)}]}
            """
        sandbox.options.mapping = try CoreDataMapping(parsing: Data(mapping.utf8))
        return sandbox
    }

    private func message(_ sandbox: TrackerSandbox, _ name: String) -> String {
        let error = #expect(throws: HabitStoreError.self) {
            try TrackerImport(path: sandbox.folder.path(name), sandbox.options)
        }
        #expect(error?.code == .invalidSource)
        return error?.message ?? ""
    }

    /// Everything after the point was cut off, including the offset: an entry of the evening before moved to the next day, and text was lost. The
    /// form that
    /// JavaScript writes was reported as not verified in every zone except UTC.
    @Test(arguments: [
        ("2026-02-01 03:30:00.123456+00", "2026-01-31"), ("2026-02-01T03:30:00.000Z", "2026-01-31"),
        ("2026-02-01T03:30:00Z", "2026-01-31"), ("2026-02-01 03:30:00 +0000", "2026-01-31"),
        ("2026-02-01T03:30:00.123456789-08:00", "2026-02-01"), ("2026-02-01 7:30", "2026-02-01"),
        ("2026-02-01T07:30:15.25", "2026-02-01"),
    ])
    func aTimeIsReadToItsEnd(_ text: String, _ day: String) throws {
        let sandbox = try log(#"{"date": "\#(text)"}"#, #"{"date": "date"}"#, "America/Los_Angeles")
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["A \(day)"])
        // What the store cannot represent is kept as text.
        let isMore = text.contains(".25") || text.contains("789")
        #expect(report.kept("entry.date") == (isMore ? 1 : 0))
    }

    @Test(arguments: [
        "2026-02-01 03:30:00. this text is gone", "2026-02-01 03:30:00.5 and more", "2026-02-01T", "2026-02-01 25:00",
        "2026-02-01 03:30 PM", "2026-02-01 03:30:00+", "2026-02-01 03:30:00Z Z", "2026-02-01 03:30:00+99",
    ])
    func aTimeThatIsNotWhollyUnderstoodIsKept(_ text: String) throws {
        let sandbox = try log(#"{"date": "\#(text)"}"#, #"{"date": "date"}"#, "America/Los_Angeles")
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == [])
        #expect(report.kept("habits.log: on a day that cannot be read") == 1)
    }

    /// 1/2/26 became a day of the year 26, and 1/2/2026/x was read as 1/2/2026.
    @Test func aYearOfTwoDigitsIsKeptAsNoDay() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("y.csv", "habit,date\nRun,1/2/26\nRun,1/2/2026/x\nRun,1/2/2026\n")
        sandbox.options.mapping = try CoreDataMapping(
            parsing: Data(
                """
                {"format": 1, "entities": [{"source": "y", "target": "Entry", "attributes": {"date": "date"},
                  "relationships": {"habit": "habit"}, "dates": "dayMonthYear"}]}
                """.utf8
            )
        )
        let report = try sandbox.run("y.csv")
        #expect(try sandbox.entries() == ["Run 2026-02-01"])
        #expect(report.kept("y: on a day that cannot be read") == 2)
    }

    /// 9007199254740993 became 9007199254740992, and "0x10" became 16.
    @Test(arguments: ["9007199254740993", "\"9007199254740993\"", "\"0x10\"", "\"0.12345678901234567890\"", "\"inf\""])
    func aNumberThatADoubleDoesNotHoldIsKeptAsItIs(_ number: String) throws {
        let sandbox = try log(
            #"{"date": "2026-01-01", "v": \#(number)}"#,
            #"{"date": "date", "v": "value"}"#,
            "Europe/Berlin"
        )
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["A 2026-01-01"])
        #expect(report.kept("entry.v") == 1)
    }

    @Test(arguments: ["9007199254740992", "\"1152921504606846976\"", "\"0.1\"", "\"-2.50\"", "\"1e3\"", "1e23"])
    func aNumberThatADoubleHoldsIsCarried(_ number: String) throws {
        let sandbox = try log(
            #"{"date": "2026-01-01", "v": \#(number)}"#,
            #"{"date": "date", "v": "value"}"#,
            "Europe/Berlin"
        )
        let report = try sandbox.run("x.json")
        #expect(try sandbox.store.all(Entry.self).map(\.value) == [Double(number.filter { $0 != "\"" })])
        #expect(report.kept("entry.v") == 0)
    }

    /// Of two members with the same name, one won and the other was lost, even for a known app. The file is now refused.
    @Test(arguments: [
        #"{"habits": [{"name": "A", "name": "B"}]}"#, #"{"habits": [{"name": "A", "n\u0061me": "B"}]}"#,
    ])
    func aMemberThatIsThereTwiceIsRefusedByItsName(_ text: String) throws {
        let sandbox = try log("{}", #"{"date": "date"}"#, "Europe/Berlin")
        try sandbox.folder.write("x.json", text)
        #expect(message(sandbox, "x.json") == "the member \"name\" is there twice in one object (line 1, byte 27)")
        let path = sandbox.folder.path("x.json")
        #expect(throws: HabitStoreError.self) { try CoreDataMapping.suggested(forTablesAt: path) }
        // The account has its own reader.
        let error = #expect(throws: HabitStoreError.self) { try LeafAccount.json(path) }
        #expect(error?.message.contains("the member \"name\" is there twice in one object, at byte 27") == true)
        sandbox.options.mapping = nil
        #expect(message(sandbox, "x.json").contains("the member \"name\" is there twice"))
    }

    @Test func membersOfOneNameInSeveralObjectsAreNothingOdd() throws {
        let text =
            #"{"a": {"n": 1, "m": ["n", {"n": -1.5e3}, "\\\"n"]}, "n": "{\"n\":1,\"n\":2}", "b": [{"n": 1}, {"n": 2}]}"#
        _ = try JSON(source: Array(text.utf8), [.repeatedMember, .roundedInteger], path: "x")
    }

    /// JSON in UTF-16 was imported, and its verification found nothing in the file. It is now refused before anything is written; all readers skip a
    /// byte
    /// order mark before UTF-8.
    @Test func anotherEncodingIsRefusedAndAMarkIsNot() throws {
        let sandbox = try log("{}", #"{"name": null, "date": "date"}"#, "Europe/Berlin")
        let text = #"{"habits": [{"name": "A", "log": [{"name": "n", "date": "2026-01-01"}]}]}"#
        let path = sandbox.folder.path("x.json")
        for encoding in [String.Encoding.utf16, .utf16LittleEndian] {
            try #require(text.data(using: encoding)).write(to: URL(fileURLWithPath: path))
            #expect(message(sandbox, "x.json") == "the JSON is not text in UTF-8")
        }
        try Data([0xEF, 0xBB, 0xBF] + Array(text.utf8)).write(to: URL(fileURLWithPath: path))
        try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["A 2026-01-01"])
    }

    /// Integers of more than 64 bits lost their last digits, so that two keys became one.
    @Test func aWholeNumberOfMoreThan64BitsIsRefused() throws {
        let sandbox = try log(
            #"{"date": "2026-01-01", "v": 18446744073709551615}"#,
            #"{"date": "date"}"#,
            "Europe/Berlin"
        )
        #expect(message(sandbox, "x.json").contains("a number has more digits than can be kept"))
    }

    /// Without a header, the first entry of a CSV file was taken for one and was in no report.
    @Test(arguments: ["Run,2026-01-01\nRead,2026-01-02\n", "Run,5\nRead,6\n", "Run,1/2/26\n", "Run,07:30\n"])
    func aCSVFileWithoutNamesOfColumnsIsRefused(_ text: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("h.csv", text)
        let error = #expect(throws: HabitStoreError.self) {
            try CoreDataMapping.suggested(forTablesAt: sandbox.folder.path("h.csv"))
        }
        #expect(error?.message.contains("column 2 has a day or a number there: put a row of names before it") == true)
    }

    /// The comparison took cells without a column name for the value and the note, and then reported an error in the store.
    @Test func aColumnWithoutANameIsKeptAndNothingElse() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("h.csv", "habit,date,\nRun,2026-01-01,5\nRead,2026-01-02,words\n")
        sandbox.options.mapping = try CoreDataMapping(
            parsing: Data(
                """
                {"format": 1, "entities": [
                  {"source": "h", "target": "Entry", "attributes": {"date": "date"}, "relationships": {"habit": "habit"}}]}
                """.utf8
            )
        )
        try sandbox.run("h.csv")
        #expect(try sandbox.entries() == ["Read 2026-01-02", "Run 2026-01-01"])
    }
}
