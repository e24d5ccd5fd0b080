import Foundation
import Testing

/// After a killed run of `import preferences`, the next one neither loses nor duplicates a text.
struct KilledPreferencesTests {
    #if CRASH_POINTS
    @Test(arguments: [
        "preferences.prepared", "preferences.committed", "preferences.exchanged", "preferences.replaced",
    ])
    func aKilledRunIsFinishedByTheNextOne(_ point: String) throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("app.plist", Self.list(["a", "a", "b"]))
        let run = ["import", "preferences", file, "--key", "draft_posts"]
        #expect(try kill(sandbox, run, at: point))
        try sandbox.run(run + ["--dry-run"]).expectSuccess()
        let finished = try sandbox.run(run + ["--format", "json"])
        finished.expectSuccess()
        #expect(try finished.json()["wasInterrupted"] as? Bool == true)
        #expect(try drafts(sandbox) == ["a", "a", "b"])
        #expect(try sandbox.run(run).output.contains("nothing to do"))
        // Everything that the app writes now is new, even if the text is the same.
        try sandbox.write("app.plist", Self.list(["a"]))
        try sandbox.run(run).expectSuccess()
        #expect(try drafts(sandbox) == ["a", "a", "a", "b"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path).sorted() == ["app.plist", "data"]
        )
    }

    @Test func whatAnAppWroteAfterTheKillIsNewAlthoughItIsTheSame() throws {
        for point in ["preferences.exchanged", "preferences.replaced"] {
            let sandbox = try Sandbox()
            let file = try sandbox.write("app.plist", Self.list(["a"]))
            let run = ["import", "preferences", file, "--key", "draft_posts"]
            #expect(try kill(sandbox, run, at: point))
            try sandbox.write("app.plist", Self.list(["a"]))
            try sandbox.run(run).expectSuccess()
            #expect(try drafts(sandbox) == ["a", "a"], "\(point)")
        }
    }

    /// Between a killed run and the next one, the user's store was restored from a backup. The next run found none of the drafts there, concluded
    /// that the
    /// killed run had done nothing, and removed its journal and the file that the exchange had returned: the last copies of the texts. Now the drafts
    /// are
    /// created again, each once.
    @Test(
        arguments: [("preferences.exchanged", true), ("preferences.replaced", true), ("preferences.replaced", false)],
        [
            false, true,
        ]
    )
    func textsOfAStoreThatWasPutBackAreMadeDraftsAgain(
        _ killed: (point: String, keepsReturned: Bool),
        _ preferencesToo: Bool
    ) throws {
        let sandbox = try Sandbox()
        try sandbox.run("draft", "add", "before").expectSuccess()
        let file = try sandbox.write("app.plist", Self.list(["a", "a", "b"]))
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        let backup = try Data(contentsOf: URL(fileURLWithPath: store))
        let run = ["import", "preferences", file, "--key", "draft_posts"]
        #expect(try kill(sandbox, run, at: killed.point))
        #expect(try drafts(sandbox) == ["a", "a", "b", "before"])
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: store + suffix) {
            try FileManager.default.removeItem(atPath: store + suffix)
        }
        try backup.write(to: URL(fileURLWithPath: store))
        let returned = try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path)
            .filter { $0.hasPrefix(".habitstore-") }
        #expect(returned.count == 1)
        var expected = ["a", "a", "b", "before"]
        if !killed.keepsReturned {
            try FileManager.default.removeItem(atPath: sandbox.path(try #require(returned.first)))
        }
        if preferencesToo {
            try sandbox.write("app.plist", Self.list(["a", "a", "b"]))
            // The returned file proves the emptying, so the current texts in the preferences were written later.
            if killed.keepsReturned { expected = ["a", "a", "a", "a", "b", "b", "before"] }
        }
        let adopted = try sandbox.run(
            "rollout",
            "accept",
            "--user",
            "alice",
            "--engine",
            "sqlite",
            "--because",
            "backup"
        )
        #expect(adopted.status == 0, "\(adopted.errors)")
        #expect(try drafts(sandbox) == ["before"])
        let rehearsed = try sandbox.run(run + ["--dry-run", "--format", "json"])
        #expect(try rehearsed.json()["made"] as? Int == expected.count - 1)
        let finished = try sandbox.run(run + ["--format", "json"])
        finished.expectSuccess()
        #expect(try finished.json()["made"] as? Int == expected.count - 1)
        #expect(try finished.json()["madeBefore"] as? Int == 0)
        #expect(try drafts(sandbox) == expected)
        #expect(try sandbox.run(run).output.contains("nothing to do"))
        #expect(try drafts(sandbox) == expected)
        let left = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder(of: "alice") + "/imports")
        #expect(left.isEmpty)
    }

    @Test func whatAnAppAddedBetweenTheHalvesIsNotLost() throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("app.plist", Self.list(["a"]))
        let run = ["import", "preferences", file, "--key", "draft_posts"]
        #expect(try kill(sandbox, run, at: "preferences.committed"))
        try sandbox.write("app.plist", Self.list(["a", "a", "c"]))
        try sandbox.run(run).expectSuccess()
        #expect(try drafts(sandbox) == ["a", "a", "c"])
    }

    /// - Returns: whether the command was killed at the point.
    private func kill(_ sandbox: Sandbox, _ arguments: [String], at point: String) throws -> Bool {
        try sandbox.start(arguments, environment: ["HABITSTORE_CRASH_POINT": point]).end().isKilled
    }
    #endif

    @Test func aFileThatIsNoneMakesNoUser() throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("app.plist", Self.list(["a"]))
        try sandbox.run("import", "preferences", file, "--key", "other").expectError(65, containing: "no key \"other\"")
        try sandbox.run("import", "preferences", sandbox.path("none"), "--key", "k").expectError(74)
        try sandbox.run("import", "preferences", file).expectError(64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path) == ["app.plist"])
    }

    private static func list(_ texts: [String]) -> String {
        let strings = texts.map { "<string>\($0)</string>" }.joined()
        return "<plist version=\"1.0\"><dict><key>draft_posts</key><array>\(strings)</array></dict></plist>"
    }

    private func drafts(_ sandbox: Sandbox) throws -> [String] {
        try sandbox.run("draft", "list", "--format", "json").list("drafts").compactMap { $0["content"] as? String }
            .sorted()
    }
}
