import Foundation
import Testing

/// A run of `import preferences` that is killed leaves nothing behind that the next one could lose or double.
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
        // What the app writes now is new, though it is the same text.
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

    @Test func whatAnAppAddedBetweenTheHalvesIsNotLost() throws {
        let sandbox = try Sandbox()
        let file = try sandbox.write("app.plist", Self.list(["a"]))
        let run = ["import", "preferences", file, "--key", "draft_posts"]
        #expect(try kill(sandbox, run, at: "preferences.committed"))
        try sandbox.write("app.plist", Self.list(["a", "a", "c"]))
        try sandbox.run(run).expectSuccess()
        #expect(try drafts(sandbox) == ["a", "a", "c"])
    }

    /// - Returns: whether the command was killed at the place.
    private func kill(_ sandbox: Sandbox, _ arguments: [String], at point: String) throws -> Bool {
        let process = Process()
        process.executableURL = try Sandbox.binary()
        process.arguments = arguments
        process.currentDirectoryURL = sandbox.url
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_ROOT"] = sandbox.path("data/habitstore")
        environment["HABITSTORE_USER"] = "alice"
        environment["HABITSTORE_CRASH_POINT"] = point
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
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
