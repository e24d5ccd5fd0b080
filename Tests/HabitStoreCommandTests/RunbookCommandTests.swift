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
        "ENGINE": "sqlite", "PLAN": "plan.json", "KIND": "killed", "FILE": "flags.json", "U": "alice",
        "BACKUP": "alice.backup",
    ]

    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

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
        let path = Self.repository.appendingPathComponent("Alerts/habitstore.rules.yml")
        let lines = try String(contentsOf: path, encoding: .utf8).matches(of: /`(habitstore [^`]+)`/).map { match in
            match.1.replacing("{{ $labels.reason }}", with: "KIND")
        }
        try #require(lines.count > 10)
        for line in Set(lines) {
            let arguments = line.split(separator: " ").dropFirst().map { Self.fillings[String($0)] ?? String($0) }
            #expect(throws: Never.self, "\(line)") { _ = try Habitstore.parseAsRoot(arguments) }
        }
    }

    /// Commands that help texts only mention.
    private static let mentions: Set<String> = [
        "copy", "flags kill", "fleet plan", "fleet resume", "help verify compare", "user backup", "user erase",
        "user restore",
        "rollout doctor", "verify", "verify --record", "verify list", "verify replay",
    ]

    /// The value of an interpolation in a command; nil if it is a whole command.
    private static func value(of interpolation: String) -> String? {
        if interpolation.contains("command") || interpolation.contains("words.map") { return nil }
        if interpolation.contains("engine") { return "sqlite" }
        return interpolation.contains("user") || interpolation.contains("words") ? "alice" : "shadow"
    }

    /// Errors, notes and findings advised `rollout accept` and `rollout evidence reset` without their required options, and `rollout doctor` and others
    /// without the user: the commands then refused, or took the login name for the user. An erasure during a run advised `fleet halt` without its reason.
    @Test(arguments: ["HabitStoreRollout", "HabitStoreOperator", "HabitStoreFleet"])
    func eachCommandThatAMessageAdvisesIsOneThatTheProgramTakes(target: String) throws {
        let folder = Self.repository.appendingPathComponent("Sources/\(target)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        var count = 0
        for file in files {
            let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
                .replacing(/"\s*\+ "/, with: "")
            for match in source.matches(of: /`\\\((?:OperatorCommand|Tool)\.name\) ([^`]*)`/) {
                let line = String(match.1)
                guard !Self.mentions.contains(line), !line.hasSuffix("--help") else { continue }
                let interpolations = line.matches(of: /\\\(((?:[^()]|\([^()]*\))*)\)/)
                guard interpolations.allSatisfy({ Self.value(of: String($0.1)) != nil }) else { continue }
                let arguments = line.replacing(/\\\(((?:[^()]|\([^()]*\))*)\)/) { Self.value(of: String($0.1)) ?? "" }
                    .split(separator: " ").map { Self.fillings[String($0)] ?? String($0) }
                count += 1
                #expect(throws: Never.self, "\(file): \(line)") { _ = try Habitstore.parseAsRoot(arguments) }
                guard arguments.first == "rollout", !["kill", "runbook", "status"].contains(arguments[1]) else {
                    continue
                }
                #expect(arguments.contains("--user") || arguments.contains("--all"), "\(file): \(line)")
            }
        }
        #expect(count > (target == "HabitStoreRollout" ? 30 : 4))
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
