import Foundation
import Testing

/// `habitstore verify list` and `replay`.
struct VerifyReplayTests {
    private func recorded(_ options: String...) throws -> (sandbox: Sandbox, differences: [[String: Any]]) {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let run = try sandbox.run(["verify", a, b, "--record", "m.jsonl", "--format", "json"] + options)
        // The stores are no longer needed.
        try FileManager.default.removeItem(atPath: sandbox.path("data"))
        try FileManager.default.removeItem(atPath: sandbox.path("copy"))
        return (sandbox, try run.list("differences"))
    }

    @Test func everyMismatchIsListedAndReplayedWithoutTheStores() throws {
        let (sandbox, differences) = try recorded()
        let ids = try differences.map { try #require($0["differenceID"] as? String) }
        #expect(ids.count == 3)
        let list = try sandbox.run("verify", "list", "--from", "m.jsonl")
        list.expectSuccess()
        #expect(list.output.hasPrefix("3 mismatches at token 3, without values\n"))
        let listed = try sandbox.run("verify", "list", "--from", "m.jsonl", "--format", "json").list("mismatches")
        #expect(listed.map { $0["differenceID"] as? String } == ids)
        for (id, difference) in zip(ids, differences) {
            let replay = try sandbox.run("verify", "replay", id, "--from", "m.jsonl")
            #expect(replay.status == 1)
            #expect(replay.errors.isEmpty)
            #expect(replay.output.hasPrefix("DIFFERENT: \(id), \(try #require(difference["kind"] as? String))\n"))
            #expect(replay.output.contains(try #require(difference["message"] as? String)))
            #expect(replay.output.contains("≠ ◀"))
            let finding = try sandbox.run("verify", "replay", id, "--from", "m.jsonl", "--format", "json").json()[
                "finding"
            ]
            #expect((finding as? [String: Any])?["differenceID"] as? String == id)
        }
    }

    @Test func theAttributeIsMarkedWithItsValuesWhenTheyWereKept() throws {
        let (sandbox, differences) = try recorded("--show-values")
        let note = try #require(differences.first { $0["attribute"] as? String == "note" }?["differenceID"] as? String)
        // People also type in capitals.
        let replay = try sandbox.run("verify", "replay", note.uppercased(), "--from", "m.jsonl")
        let marked = try #require(replay.output.split(separator: "\n").first { $0.contains("◀") })
        #expect(marked.contains("note") && marked.contains(Sandbox.markup))
    }

    @Test func aMismatchThatARuleIgnoresIsReplayedAsOne() throws {
        let sandbox = try Sandbox()
        let (a, b) = try sandbox.differingStores()
        let rules = try sandbox.ignoreRules("r.json")
        let run = try sandbox.run("verify", a, b, "--record", "m.jsonl", "--format", "json", "--ignore", rules)
        let ignored = try #require(try run.list("differences").first { $0["ignoredBy"] as? String == "notes" })
        let replay = try sandbox.run(
            "verify",
            "replay",
            try #require(ignored["differenceID"] as? String),
            "--from",
            "m.jsonl"
        )
        #expect(replay.status == 2)
        #expect(replay.output.contains("ignored by the rule notes"))
    }

    @Test func whatIsNotThereIsSaidInOneLine() throws {
        let (sandbox, differences) = try recorded()
        let id = try #require(differences.first?["differenceID"] as? String)
        try sandbox.run("verify", "replay", "0123456789ab", "--from", "m.jsonl").expectError(64, containing: id)
        try sandbox.run("verify", "replay", id, "--from", "none.jsonl").expectError(74, containing: "none.jsonl")
        #expect(try sandbox.run("verify", "replay", "--from", "m.jsonl").status == 64)
        #expect(try sandbox.run("verify", "replay", id).status == 64)
    }

    @Test func aDamagedNewerOrOtherFileIsRefused() throws {
        let (sandbox, differences) = try recorded()
        let id = try #require(differences.first?["differenceID"] as? String)
        let text = try String(contentsOfFile: sandbox.path("m.jsonl"), encoding: .utf8)
        try sandbox.write("cut.jsonl", String(text.dropLast(10)))
        try sandbox.write("newer.jsonl", text.replacing("\"formatVersion\":1", with: "\"formatVersion\":7"))
        try sandbox.write("other.jsonl", "{}\n")
        for command in [["replay", id], ["list"]] {
            try sandbox.run(["verify"] + command + ["--from", "cut.jsonl"]).expectError(65, containing: "damaged")
            try sandbox.run(["verify"] + command + ["--from", "newer.jsonl"]).expectError(65, containing: "format 7")
            try sandbox.run(["verify"] + command + ["--from", "other.jsonl"]).expectError(
                65,
                containing: "not a recording"
            )
        }
    }

    /// `replay` is a subcommand at a position that only stores had before.
    @Test func aStoreCanStillBeNamedReplay() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let store = sandbox.path("data/habitstore/users/u-616c696365/store.sqlite")
        for name in ["replay", "list", "compare"] {
            try sandbox.run("copy", store, "sqlite:\(name)").expectSuccess()
            try sandbox.run("verify", "./\(name)", store).expectSuccess()
            try sandbox.run("verify", "sqlite:\(name)", store).expectSuccess()
            try sandbox.run("verify", store, name).expectSuccess()
            try sandbox.run("verify", "compare", name, store).expectSuccess()
        }
    }
}
