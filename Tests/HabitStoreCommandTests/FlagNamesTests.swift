import Foundation
import Testing

/// Flags with misspelt names or values move no user: the linter reports them, and an advance without a valid target does not end with 0.
struct FlagNamesTests {
    private static let file = "data/habitstore/habit-store.flagd.json"

    /// A file with flags of variants, each with its first variant as the default.
    private func flags(_ flags: (key: String, variants: String)...) -> String {
        let lines = flags.map { flag in
            let first = flag.variants.split(separator: "\"")[0]
            return
                "\"\(flag.key)\": {\"state\": \"ENABLED\", \"defaultVariant\": \"\(first)\", \"variants\": {\(flag.variants)}}"
        }
        return "{\"flags\": {\n\(lines.joined(separator: ",\n"))\n}}"
    }

    private func lint(_ text: String, environment: [String: String] = [:]) throws -> CommandRun {
        let sandbox = try Sandbox()
        try sandbox.write("flags.json", text)
        return try sandbox.run(["flags", "lint", "flags.json"], environment: environment)
    }

    /// The linter said "nothing found", and the users to whom the rule gave `live` stayed where they were.
    @Test func aValueThatIsNotAStageIsAnError() throws {
        for key in ["habit-store-stage", "notes-store-stage"] {
            let text = flags((key, #""off": "off", "live": "lve""#))
            let run = try lint(text)
            #expect(run.status == 1)
            let line = try #require(text.split(separator: "\n").dropFirst().first)
            let column = try #require(line.firstRange(of: "\"lve\"")).lowerBound.utf16Offset(in: line) + 1
            let message = "error: the value \"lve\" of \"\(key)\" is not a stage (off"
            #expect(run.output.hasPrefix("flags.json:2:\(column): \(message)"), "\(run.output)")
            #expect(run.output.hasSuffix("did you mean \"live\"? [wrong-value]\n"), "\(run.output)")
        }
        let typed = try lint(flags(("habit-store-stage", #""one": 1"#)))
        #expect(typed.status == 1 && typed.output.contains("this is of the type"), "\(typed.output)")
    }

    @Test func aValueThatIsNotAnEngineIsAnErrorWhereTheEnginesAreKnown() throws {
        let near = try lint(flags(("habit-store-new", #""new": "lmbd""#)))
        #expect(
            near.status == 1 && near.output.contains("is not an engine (sqlite, lmdb); did you mean \"lmdb\"?"),
            "\(near.output)"
        )
        let server = flags(("habit-store-new", #""new": "eu1""#))
        let unknown = try lint(server)
        #expect(unknown.status == 0 && unknown.output.contains("warning: the value \"eu1\""), "\(unknown.output)")
        let named = try lint(server, environment: ["HABITSTORE_SERVERS": "eu1=postgresql://localhost:1/none"])
        #expect(named.output == "flags.json: nothing found\n", "\(named.output)")
        let other = try lint(server, environment: ["HABITSTORE_SERVERS": "us1=postgresql://localhost:1/none"])
        #expect(other.status == 1 && other.output.contains("(sqlite, lmdb, us1)"), "\(other.output)")
    }

    @Test func aKillFlagOfAStoreWithANameIsLookedAtToo() throws {
        let stage = (key: "notes-store-stage", variants: #""off": "off""#)
        let run = try lint(flags(stage, ("notes-store-kill", #""armed": "false", "killed": "true""#)))
        #expect(run.status == 1 && run.output.contains("must be booleans"), "\(run.output)")
    }

    @Test func aKeyThatIsNearlyOneOfOursIsAWarning() throws {
        for (key, meant) in [
            ("habitstore-stage", "habit-store-stage"), ("habit-store-stge", "habit-store-stage"),
            ("habits-store-kill", "habit-store-kill"), ("habit_store_kill", "habit-store-kill"),
        ] {
            let run = try lint(flags((key, #""off": "off""#)))
            #expect(
                run.status == 0 && run.output.contains("did you mean \"\(meant)\"? [unknown-flag]"),
                "\(run.output)"
            )
        }
        let notes = [("notes-store-stage", #""off": "off""#), ("notes-store-old", #""old": "sqlite""#)]
        let near = try lint(flags(notes[0], notes[1], ("note-store-new", #""new": "lmdb""#)))
        #expect(near.output.contains("did you mean \"notes-store-new\"?"), "\(near.output)")
    }

    /// An app may keep other flags in the file.
    @Test func flagsOfOthersAreLeftAlone() throws {
        let run = try lint(
            flags(
                ("app-store-new", #""on": true, "off": false"#),
                ("habit-story", #""a": "b""#),
                ("notes-store-stage", #""off": "off""#),
                ("notes-store-kill", #""armed": false, "killed": true"#)
            )
        )
        #expect(run.output == "flags.json: nothing found\n", "\(run.output)")
    }

    /// An advance that had reported why no user was moved ended with 0, "everybody is where the flags want".
    @Test(arguments: [
        ("habit-store-stage", #""live": "lve""#, "is not a stage"),
        ("habitstore-stage", #""live": "live""#, "it has neither habit-store-stage nor habit-store-backend"),
    ])
    func anAdvanceThatCannotTellWhereToGoIsNotDone(key: String, variants: String, reason: String) throws {
        let sandbox = try Sandbox()
        for user in ["alice", "bob"] { try sandbox.run("habit", "add", "Run", "--user", user).expectSuccess() }
        try sandbox.write(Self.file, flags((key, variants)))
        let one = try sandbox.run("rollout", "advance")
        #expect(one.status == 65)
        #expect(one.output == "alice: stays at off\n" && one.errors.contains(reason), "\(one.output)\(one.errors)")
        let all = try sandbox.run("rollout", "advance", "--all")
        #expect(all.status == 65)
        #expect(
            all.output.hasPrefix("2 of 2 users could not be moved by the flags: the flag file changes nothing: "),
            "\(all.output)"
        )
        let json = try sandbox.run("rollout", "advance", "--all", "--format", "json")
        #expect(json.status == 65)
        #expect(try json.list("users").allSatisfy { ($0["flagFailure"] as? String)?.contains(reason) == true })
    }

    @Test func anAdvanceWithoutFlagsOrWithAFileThatCannotBeReadSaysWhich() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("rollout", "advance").expectSuccess()
        try sandbox.write(Self.file, "{")
        #expect(try sandbox.run("rollout", "advance").status == 65)
    }
}
