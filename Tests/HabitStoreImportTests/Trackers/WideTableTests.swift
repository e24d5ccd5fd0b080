import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Tables of hundreds of columns: a suggested mapping is valid without changes, and no output is one long line.
@Suite struct WideTableTests {
    private static let width = 200

    /// Suggests a mapping, imports with it, and returns the output.
    private func importing(_ name: String, in sandbox: TrackerSandbox) throws -> (mapping: String, run: CommandLineRun)
    {
        let home = sandbox.folder.url
        let path = home.appendingPathComponent(name).path
        let suggested = try CommandLineRun("import", path, "--suggest-mapping", home: home)
        #expect(suggested.status == 0, "\(suggested.errors)")
        let mapping = home.appendingPathComponent("mapping.json").path
        try Data(suggested.output.utf8).write(to: URL(fileURLWithPath: mapping))
        let store = home.appendingPathComponent("wide.sqlite").path
        let run = try CommandLineRun("import", path, "--mapping", mapping, "--into", "sqlite:\(store)", home: home)
        for text in [suggested.output, run.output] {
            #expect(text.split(separator: "\n").allSatisfy { $0.count < 300 }, "\(text)")
        }
        return (suggested.output, run)
    }

    @Test func aCSVFileWithAColumnForEachOfManyHabitsIsReadByItsSuggestedMapping() throws {
        let sandbox = try TrackerSandbox()
        let names = (0..<Self.width).map { "Habit \($0)" }
        var lines = ["Date," + names.joined(separator: ",")]
        for day in 1...9 {
            let marks = names.indices.map { ($0 + day).isMultiple(of: 3) ? "x" : "" }
            lines.append("2024-01-0\(day)," + marks.joined(separator: ","))
        }
        try sandbox.folder.write("year.csv", lines.joined(separator: "\n") + "\n")
        let (mapping, run) = try importing("year.csv", in: sandbox)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("verified: 200 habits with 600 entries"))
        for name in names { #expect(mapping.contains("\"\(name)\"")) }
    }

    @Test func whatNothingHereHoldsOfAWideTableIsCountedInOneLine() throws {
        let sandbox = try TrackerSandbox()
        let columns = (0..<Self.width).map { "c\($0)" }
        let values = columns.map { "'\($0)'" }.joined(separator: ", ")
        try sandbox.database(
            "wide",
            """
            CREATE TABLE habits (id INTEGER PRIMARY KEY, name TEXT, \(columns.map { "\($0) TEXT" }.joined(separator: ", ")));
            CREATE TABLE checkins (id INTEGER PRIMARY KEY, habit_id INTEGER, day TEXT);
            INSERT INTO habits VALUES (1, 'Run', \(values));
            INSERT INTO checkins VALUES (1, 1, '2024-01-01'), (2, 1, '2024-01-02');
            """
        )
        let (_, run) = try importing("wide", in: sandbox)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("verified: 1 habit with 2 entries"))
        #expect(run.output.contains("182  under 182 more names, which --format json lists"), "\(run.output)")
    }
}
