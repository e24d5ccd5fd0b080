import Foundation
import HabitStore
import Testing

@testable import HabitTrackerImport

/// harsh ends a line with a space, which editors remove. `y :` gave no entry and `y :  :` one with the note ":", both with exit code 0.
@Suite struct HarshLineTests {
    static let lines: [(line: String, entry: String)] = [
        ("y :  : ", "Gym 2024-02-29"), ("y :  :", "Gym 2024-02-29"), ("y : :", "Gym 2024-02-29"),
        ("y : ", "Gym 2024-02-29"),
        ("y :", "Gym 2024-02-29"), ("y", "Gym 2024-02-29"), ("y\t", "Gym 2024-02-29"), ("y :\t", "Gym 2024-02-29"),
        ("y : hard :", "Gym 2024-02-29 hard"), ("y : hard : ", "Gym 2024-02-29 hard"),
        ("y : hard", "Gym 2024-02-29 hard"),
        ("y :  : 5", "Gym 2024-02-29 5.0"), ("y : : 5", "Gym 2024-02-29 5.0"),
        ("y : a: b : 5", "Gym 2024-02-29 5.0 a: b"),
    ]

    @Test(arguments: lines, ["\n", "\r\n", ""])
    func aBlankThatAnEditorTookChangesNothing(_ line: (line: String, entry: String), _ end: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(
            "log",
            "2024-02-28 : Gym : n :\n2024-02-28 : Gym : s :  :\n2024-02-29 : Gym : \(line.line)\(end)"
        )
        let report = try sandbox.run("log")
        #expect(try sandbox.entries() == [line.entry])
        #expect((report.kept("log: not done"), report.kept("log: skipped")) == (1, 1))
        #expect(report.losses == [] && report.verification?.setAside == [])
    }
}
