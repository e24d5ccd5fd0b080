import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// The comparison after an import finds what an import could get wrong.
struct TrackerVerificationTests {
    @Test(arguments: ["lost", "moved", "changed", "renamed", "worded"])
    func anythingThatIsNotAsInTheSourceIsFound(_ fault: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(
            "x",
            """
            HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText
            Push,,,2024-02-28,5,a
            Push,,,2024-02-29,7,b
            Push,,,2024-03-01,9,c

            """
        )
        let report = try sandbox.run("x")
        var entry = try #require(try sandbox.store.all(Entry.self).first { $0.note == "c" })
        switch fault {
        case "lost": try sandbox.store.delete(entry)
        case "moved": entry.date += 86_400
        case "changed": entry.value = 9.001
        case "worded": entry.note = "cc"
        default:
            var habit = try sandbox.habit("Push")
            habit.name = "Pull"
            try sandbox.store.save(habit)
        }
        if fault != "lost" { try sandbox.store.save(entry) }
        let verification = try sandbox.verify("x", report)
        #expect(!verification.isEqual)
        #expect(!verification.differences.isEmpty)
    }

    /// The tallies count habits and entries, and once said "verified" regardless of columns that neither is made of.
    @Test(arguments: ["\"color\"", "Streak", "skipped", "everything"])
    func aColumnOrARowThatIsKeptNowhereIsFound(_ fault: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "x",
            """
            CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, color INTEGER, freq_num INTEGER, freq_den INTEGER,
              archived INTEGER, description TEXT);
            CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER, value INTEGER);
            CREATE TABLE Streak (id INTEGER PRIMARY KEY, score REAL, picture BLOB, words TEXT);
            INSERT INTO Habits VALUES (1, 'Run', -7, 1, 1, 0, ''), (2, 'Read', -7, 1, 1, 0, 'a book');
            INSERT INTO Repetitions VALUES (1, 1, 86400000, 2), (2, 1, 172800000, 3);
            INSERT INTO Streak VALUES (1, 0.5, x'0102', ''), (2, 2.0, NULL, 'x');
            """
        )
        let report = try sandbox.run("x")
        let path = try #require(report.attachment)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let left = fault == "everything" ? [] : lines.filter { !$0.contains(fault) }
        #expect(left.count < lines.count)
        try Data((left.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
        let verification = try sandbox.verify("x", report)
        #expect(!verification.isEqual)
        let expected = ["\"color\"": "Habits.color", "Streak": "rows of Streak", "skipped": "rows of Repetitions"][
            fault
        ]
        #expect(
            verification.differences.contains { $0.contains(expected ?? "Habits.color") },
            "\(verification.differences)"
        )
    }
}
