import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

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
        let finding = try TrackerRecognition.find(sandbox.folder.path("x"), format: nil)
        let plan = TrackerPlan(
            try finding.read(sandbox.folder.path("x")),
            name: "",
            timeZone: sandbox.options.timeZone,
            now: sandbox.options.now
        )
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
        let verification = try TrackerVerification(finding, sandbox.folder.path("x"), plan)
            .compare(with: sandbox.store, sandbox.options.timeZone, report)
        #expect(!verification.isEqual)
        #expect(!verification.differences.isEmpty)
    }
}
