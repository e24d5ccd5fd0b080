import Foundation
import HabitStoreRollout
import ShadowVerifier
import Testing

/// `--record-queries`, and the coverage of the fixtures' query file.
struct RecordQueriesTests {
    /// Runs a command that must succeed, and records its queries.
    private func record(_ sandbox: Sandbox, _ arguments: String...) throws -> CommandRun {
        let run = try sandbox.run(arguments + ["--record-queries", "recorded.json"])
        #expect(run.status == 0, "\(arguments): \(run.errors)")
        #expect(run.errors.isEmpty, "\(arguments): \(run.errors)")
        return run
    }

    private func id(_ run: CommandRun, _ key: String) throws -> String {
        let object = try #require(try run.json()[key] as? [String: Any], "\(run.output)")
        return String(try #require(object["id"] as? String).prefix(13))
    }

    /// Runs the tracker's commands, each with every option that changes its queries.
    private func runTheTracker(_ sandbox: Sandbox) throws {
        _ = try record(sandbox, "tag", "add", "sport")
        _ = try record(sandbox, "habit", "add", "Run", "--category", "body", "--tag", "sport", "--tag", "out")
        _ = try record(sandbox, "habit", "add", "Read")
        _ = try record(sandbox, "habit", "edit", "Read", "--tag", "calm", "--untag", "sport", "--category", "mind")
        let entry = try id(try record(sandbox, "checkin", "Run", "--note", "late", "--format", "json"), "entry")
        _ = try record(sandbox, "checkin", "Run", "--at", "yesterday")
        _ = try record(sandbox, "entry", "edit", entry, "--value", "2", "--habit", "Read")
        for options in [[], ["--limit", "3"], ["--since", "yesterday"], ["--limit", "3", "--since", "yesterday"]] {
            let run = try sandbox.run(["entry", "list", "Run", "--record-queries", "recorded.json"] + options)
            run.expectSuccess()
        }
        for options in [
            [], ["--archived"], ["--category", "body"], ["--tag", "sport"], ["--tag", "sport", "--category", "body"],
        ] {
            let run = try sandbox.run(["habit", "list", "--record-queries", "recorded.json"] + options)
            run.expectSuccess()
        }
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        let habit = String(try #require(habits.first?["id"] as? String).prefix(13))
        _ = try record(sandbox, "habit", "show", habit)
        _ = try record(sandbox, "chart", "Run")
        _ = try record(sandbox, "search", "run")
        _ = try record(sandbox, "status")
        _ = try record(sandbox, "tag", "list")
        let tags = try sandbox.run("tag", "list", "--format", "json").list("tags")
        let tag = String(try #require(tags.first?["id"] as? String).prefix(13))
        _ = try record(sandbox, "tag", "rename", tag, "other")
        _ = try record(sandbox, "tag", "delete", "other")
        let draft = try id(try record(sandbox, "draft", "add", "unfinished", "--format", "json"), "draft")
        _ = try record(sandbox, "draft", "list")
        _ = try record(sandbox, "draft", "show", draft)
        _ = try record(sandbox, "draft", "edit", draft, "--content", "finished")
        _ = try record(sandbox, "draft", "delete", draft)
        _ = try record(sandbox, "habit", "archive", "Read")
        _ = try record(sandbox, "entry", "delete", entry)
        _ = try record(sandbox, "habit", "delete", "Run")
    }

    /// The repository's query file.
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("fixtures/queries.json").path

    @Test func theFixturesCoverEveryFetchOfTheTracker() throws {
        let sandbox = try Sandbox()
        try runTheTracker(sandbox)
        let asked = try QueryFile.load(path: sandbox.path("recorded.json")).queries.map { try $0.shape() }
        // Names, identifiers and their prefixes, lists, searches and counts: fewer would mean that some were missed.
        #expect(asked.count >= 25, "\(asked)")
        let covered = Set(try QueryFile.load(path: Self.fixtures).queries.map { try $0.shape() })
        let missing = asked.filter { !covered.contains($0) }
        #expect(missing.isEmpty, "fixtures/queries.json lacks: \(missing.joined(separator: "; "))")
    }

    /// Add new commands to ``runTheTracker(_:)``.
    @Test(arguments: [("habit", 6), ("entry", 3), ("tag", 4), ("draft", 5)])
    func noCommandOfTheTrackerIsLeftOut(group: String, count: Int) throws {
        let help = try Sandbox().run(group, "--help").output
        let list = try #require(help.components(separatedBy: "SUBCOMMANDS:\n").last)
        let names = list.split(separator: "\n").filter { line in
            line.hasPrefix("  ") && !line.hasPrefix("   ") && !line.hasPrefix("  See ")
        }
        #expect(names.count == count, "\(help)")
    }

    @Test func whatWasAskedForIsKeptOnRequestOnly() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("search", "my secret", "--record-queries", "redacted.json").expectSuccess()
        try sandbox.run("search", "my secret", "--record-queries", "kept.json", "--record-values").expectSuccess()
        let (redacted, kept) = (try text(sandbox, "redacted.json"), try text(sandbox, "kept.json"))
        #expect(!redacted.contains("secret") && redacted.contains("\"redacted\" : true"))
        #expect(kept.contains("my secret") && !kept.contains("redacted"))
        let mode = try FileManager.default.attributesOfItem(atPath: sandbox.path("kept.json"))[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
    }

    @Test func aFileThatCannotBeWrittenIsToldAndUndoesNothing() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("habit", "add", "Run", "--record-queries", "nowhere/recorded.json")
        #expect(run.status == 0)
        #expect(run.errors.hasPrefix("habitstore: note: the queries were not recorded: "), "\(run.errors)")
        #expect(try sandbox.run("habit", "list", "--format", "json").list("habits").count == 1)
    }

    @Test func valuesAreNotKeptOfNothing() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("status", "--record-values")
        #expect(run.status == 64)
        #expect(run.errors.contains("--record-values belongs to --record-queries"))
    }

    private func text(_ sandbox: Sandbox, _ name: String) throws -> String {
        try String(contentsOfFile: sandbox.path(name), encoding: .utf8)
    }
}
