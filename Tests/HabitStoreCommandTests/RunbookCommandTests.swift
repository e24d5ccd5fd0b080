import ArgumentParser
import Foundation
import HabitStoreRollout
import Testing

@testable import HabitStoreCommand
@testable import HabitStoreOperator

/// The printed runbook.
struct RunbookCommandTests {
    /// Values for the placeholders.
    private static let fillings = [
        "ROOT": "/var/lib/habits", "USER": "alice", "STAGE": "live", "WANTED": "shadow", "FLAGS": "flags.json",
        "TEXT": "seen to",
        "STORE": "sqlite:a.sqlite",
        "ENGINE": "sqlite", "PLAN": "plan.json", "KIND": "killed", "FILE": "flags.json",
    ]

    /// The command lines of an entry, including those within its sentences.
    private static func lines(_ entry: RunbookEntry) -> [String] {
        [entry.command]
            + [entry.symptom, entry.meaning, entry.check].flatMap { text in
                text.matches(of: /`(habitstore [^`]+)`/).map { String($0.1) }
            }
    }

    /// A runbook with a command that is refused as wrong usage is worse than none at three in the morning.
    @Test(arguments: Runbook.entries.map(\.kind))
    func eachCommandLineIsOneThatTheProgramTakes(kind: String) throws {
        let entry = try #require(Runbook.entry(kind))
        for line in Self.lines(entry) {
            let arguments = line.split(separator: " ").dropFirst().map { word in
                Self.fillings[String(word)] ?? String(word)
            }
            let unfilled = arguments.filter { !$0.isEmpty && $0.allSatisfy { $0.isUppercase } }
            #expect(unfilled == [], "\(entry.kind): \(line)")
            if arguments == ["--version"] { continue }
            #expect(throws: Never.self, "\(entry.kind): \(line)") { _ = try Habitstore.parseAsRoot(arguments) }
        }
    }

    /// The command in an alert is the first one that an operator types.
    @Test func eachCommandLineOfAnAlertIsOneThatTheProgramTakes() throws {
        let path = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Alerts/habitstore.rules.yml")
        let lines = try String(contentsOf: path, encoding: .utf8).matches(of: /`(habitstore [^`]+)`/).map { match in
            match.1.replacing("{{ $labels.reason }}", with: "KIND")
        }
        try #require(lines.count > 10)
        for line in Set(lines) {
            let arguments = line.split(separator: " ").dropFirst().map { Self.fillings[String($0)] ?? String($0) }
            #expect(throws: Never.self, "\(line)") { _ = try Habitstore.parseAsRoot(arguments) }
        }
    }

    @Test func theRunbookIsPrintedAsTextAndAsJSON() throws {
        let sandbox = try Sandbox()
        let all = try sandbox.run("rollout", "runbook")
        all.expectSuccess()
        for entry in Runbook.entries { #expect(all.output.contains(entry.kind + "\n  symptom:")) }

        let one = try sandbox.run("rollout", "runbook", "killed", "--format", "json")
        one.expectSuccess()
        let entries = try one.list("entries")
        #expect(entries.map { $0["kind"] as? String } == ["killed"])
        #expect(entries.first?["command"] as? String == "habitstore rollout rearm --root ROOT --user USER")

        try sandbox.run("rollout", "runbook", "fullMoon").expectError(64, containing: "is not a reason")
    }
}
