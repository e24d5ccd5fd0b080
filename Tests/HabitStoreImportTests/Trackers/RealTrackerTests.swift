import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Files from other apps, if available: imported completely, twice, and compared with their lists.
@Suite(.enabled(if: RealFiles.folder != nil, "HABITSTORE_REAL_STORES names no folder"))
struct RealTrackerTests {
    struct Expectation: Sendable {
        let file: String
        let format: TrackerFormat
        let habits: Int
        let rows: Int
        let entries: Int
    }

    static let expectations = [
        Expectation(file: "uhabits/loop.db", format: .loop, habits: 9, rows: 164, entries: 164),
        Expectation(file: "uhabits/021.db", format: .loop, habits: 1, rows: 3, entries: 3),
        Expectation(file: "uhabits/022.db", format: .loop, habits: 2, rows: 1, entries: 1),
        Expectation(file: "uhabits/tickmate.db", format: .tickmate, habits: 3, rows: 82, entries: 82),
        Expectation(file: "uhabits/habitbull.csv", format: .habitbull, habits: 4, rows: 18, entries: 18),
        Expectation(file: "uhabits/habitbull2.csv", format: .habitbull, habits: 6, rows: 81, entries: 72),
        Expectation(file: "uhabits/habitbull3.csv", format: .habitbull, habits: 2, rows: 10, entries: 10),
        Expectation(file: "uhabits/habitbull4.csv", format: .habitbull, habits: 1, rows: 2, entries: 2),
        Expectation(file: "uhabits/csv_export", format: .loopCSV, habits: 2, rows: 10, entries: 6),
        Expectation(file: "mhabit/loop_habits_csv_v2.3.1.zip", format: .loopCSV, habits: 3, rows: 7, entries: 5),
        Expectation(file: "mhabit/loop_habits_csv_v2.3.1", format: .loopCSV, habits: 3, rows: 7, entries: 5),
        Expectation(
            file: "beaverhabits/a66250a2-63d5-44af-b90e-953fb04a687b.A.json",
            format: .beaverhabits,
            habits: 5,
            rows: 26,
            entries: 8
        ),
        Expectation(
            file: "beaverhabits/a66250a2-63d5-44af-b90e-953fb04a687b.B.json",
            format: .beaverhabits,
            habits: 5,
            rows: 25,
            entries: 6
        ),
        Expectation(file: "harsh", format: .harsh, habits: 10, rows: 19, entries: 13),
    ]

    @Test(arguments: expectations)
    func aRealFileIsImportedWhole(_ expected: Expectation) throws {
        let sandbox = try TrackerSandbox()
        let path = try RealFiles.copy(expected.file, into: sandbox.folder)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let report = try sandbox.run(name)
        #expect(report.format == expected.format)
        #expect(report.habits == .init(inSource: expected.habits, added: expected.habits))
        #expect(report.entries == .init(inSource: expected.entries, added: expected.entries))
        // Every row that may be an entry is one, or is kept under a name.
        let marks = ["Repetitions", "ticks", "rows", "records", "log lines"]
        let rows = report.rows.filter { marks.contains($0.name) || $0.name.hasSuffix("/Checkmarks.csv") }
        #expect(rows.reduce(0) { $0 + $1.count } == expected.rows)
        let kept = report.kept.filter { kept in
            ["Repetitions: ", "ticks: ", "rows: ", "records: ", "log: ", "check marks: "].contains {
                kept.name.hasPrefix($0) && !kept.name.hasSuffix("remarks")
            }
        }
        #expect(kept.reduce(0) { $0 + $1.count } + expected.entries == expected.rows)
        let again = try sandbox.run(name)
        #expect(again.entries == .init(inSource: expected.entries, added: 0, known: expected.entries))
        #expect(again.habits == .init(inSource: expected.habits, added: 0, known: expected.habits))
    }

    @Test func realPreferencesAreReadAndOthersRefused() throws {
        let sandbox = try TrackerSandbox()
        let expectations = [
            ("com.apple.MobileBackup.plist", "LastOnConditionEvents", 10), ("launchd.plist", "ProgramArguments", 2),
            ("truncated.plist", "x", nil), ("empty.plist", "x", nil), ("leading_whitespace.plist", "x", nil),
        ]
        for (name, key, count) in expectations {
            let path = try RealFiles.copy("plists/" + name, into: sandbox.folder)
            let work = PreferencesImport(
                path: path,
                key: key,
                into: sandbox.store,
                journalsIn: sandbox.folder.path("imports")
            )
            guard let count else {
                #expect(throws: HabitStoreError.self) { try work.run() }
                continue
            }
            #expect(try work.run().made == count)
            #expect(try work.run().made == 0)
        }
    }
}
