import Foundation
import Testing

/// Every kind of bad input ends in one line, the right exit code, and no change.
struct BadInputTests {
    /// Runs a command that must fail and change nothing.
    private func expect(
        _ sandbox: Sandbox,
        _ arguments: [String],
        _ status: Int32,
        containing text: String = "",
        lines: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try sandbox.state()
        try sandbox.run(arguments).expectError(status, containing: text, lines: lines, sourceLocation: sourceLocation)
        #expect(try sandbox.state() == before, "\(arguments) changed files", sourceLocation: sourceLocation)
    }

    private static let readers: [[String]] = [["check"], ["info"], ["history"], ["query", "Habit", "--store"]]

    private func store(_ engine: String, _ sandbox: Sandbox) throws -> String {
        try sandbox.want(engine)
        try sandbox.run("habit", "add", "Run").expectSuccess()
        return sandbox.path("data/habitstore/users/u-616c696365/store.\(engine)")
    }

    @Test func aMistypedCommandIsNamed() throws {
        let sandbox = try Sandbox()
        let typed: [([String], String)] = [
            (["rolout", "status"], "there is no command \"habitstore rolout\"; did you mean \"rollout\"?"),
            (["rollout", "statsu", "--user", "x"], "\"habitstore rollout statsu\"; did you mean \"status\"?"),
            (["rollout", "evidence", "verfy"], "did you mean \"verify\"?"),
            (["fleet", "zzz"], "there is no command \"habitstore fleet zzz\"; `habitstore fleet --help` lists them"),
        ]
        for (arguments, text) in typed { try expect(sandbox, arguments, 64, containing: text) }
        try sandbox.run("rollout", "--help").expectSuccess()
        try sandbox.run("help", "rollout").expectSuccess()
    }

    @Test func aMissingPathIsAnErrorAndIsNotMade() throws {
        let sandbox = try Sandbox()
        for path in ["missing", "sqlite:missing", "lmdb:missing", "sqlite:no/folder/missing", "lmdb:no/folder/missing"]
        {
            for reader in Self.readers { try expect(sandbox, reader + [path], 74, containing: "missing") }
            try expect(sandbox, ["verify", path, path], 74)
            try expect(sandbox, ["copy", path, "lmdb:copy"], 74)
        }
        try expect(sandbox, ["verify", "--fixtures", "missing"], 74)
        try expect(sandbox, ["verify", "--user", "nobody"], 74)
        try expect(sandbox, ["query", "Habit"], 74, containing: "no stores")
    }

    @Test func anEmptyPathIsWrongUsage() throws {
        let sandbox = try Sandbox()
        let source = try store("sqlite", sandbox)
        for path in ["", "sqlite:", "lmdb:"] {
            for reader in Self.readers { try expect(sandbox, reader + [path], 64, containing: "path is empty") }
            try expect(sandbox, ["verify", source, path], 64, containing: "path is empty")
            try expect(sandbox, ["copy", source, path], 64, containing: "path is empty")
        }
        try expect(sandbox, ["verify", "--fixtures", ""], 74, containing: "\"\": ")
        try expect(sandbox, ["habit", "list", "--config", ""], 74, containing: "\"\": ")
    }

    @Test func aLinkThatLeadsNowhereIsNoStoreAndIsNotFollowed() throws {
        let sandbox = try Sandbox()
        let source = try store("sqlite", sandbox)
        for (link, target) in [("dangling", "nowhere"), ("loop", "loop")] {
            try FileManager.default.createSymbolicLink(atPath: sandbox.path(link), withDestinationPath: target)
            for path in [link, "sqlite:\(link)", "lmdb:\(link)"] {
                for reader in Self.readers { try expect(sandbox, reader + [path], 74, containing: link) }
            }
            for engine in ["sqlite", "lmdb"] {
                try expect(sandbox, ["copy", source, "\(engine):\(link)"], 74, containing: link)
            }
        }
    }

    /// The command did not check the kind of the file and waited forever for a writer of the pipe.
    @Test func aPipeOrADeviceIsNoStore() throws {
        let sandbox = try Sandbox()
        let source = try store("sqlite", sandbox)
        #expect(mkfifo(sandbox.path("pipe"), 0o600) == 0)
        for name in ["pipe", "/dev/null"] {
            for path in [name, "sqlite:\(name)", "lmdb:\(name)"] {
                for reader in Self.readers { try expect(sandbox, reader + [path], 65) }
                try expect(sandbox, ["copy", source, path], 65)
            }
        }
    }

    @Test func aNumberBelowTheLeastIsNamedWithItsLimit() throws {
        let sandbox = try Sandbox()
        for arguments in [
            ["query", "Habit", "--limit", "-1"], ["query", "Habit", "--offset", "-1"],
            ["history", "x", "--after", "-1"], ["history", "x", "--limit", "-1"],
            ["entry", "list", "x", "--limit", "-1"],
            ["habit", "add", "x", "--times", "-1"], ["habit", "edit", "x", "--period", "-1"],
        ] {
            try expect(sandbox, arguments, 64, containing: "or more")
        }
        try expect(sandbox, ["chart", "x", "--days", "-1"], 64, containing: "from 1 to")
    }

    @Test func aFileOfQueriesThatIsNoJSONIsRefusedWithThePlace() throws {
        let sandbox = try Sandbox()
        let source = try store("sqlite", sandbox)
        try sandbox.write("queries.json", "{\n  oops\n}\n")
        try expect(
            sandbox,
            ["verify", source, source, "--queries", "queries.json"],
            64,
            containing: "around character 4"
        )
    }

    @Test func aFolderIsNoStore() throws {
        let sandbox = try Sandbox()
        try FileManager.default.createDirectory(atPath: sandbox.path("folder"), withIntermediateDirectories: false)
        for path in ["folder", "sqlite:folder", "lmdb:folder"] {
            for reader in Self.readers { try expect(sandbox, reader + [path], 65) }
        }
        try expect(sandbox, ["verify", "folder", "folder"], 65)
        let source = try store("sqlite", sandbox)
        try expect(sandbox, ["copy", source, "lmdb:folder"], 65)
        try expect(sandbox, ["copy", source, "sqlite:folder"], 65)
    }

    @Test func aFileThatIsNoStoreIsRefused() throws {
        let sandbox = try Sandbox()
        try sandbox.write("empty", "")
        try sandbox.write("text", String(repeating: "This is not a store. ", count: 1_000))
        for name in ["empty", "text"] {
            for path in [name, "sqlite:\(name)", "lmdb:\(name)"] {
                for reader in Self.readers { try expect(sandbox, reader + [path], 65) }
            }
        }
    }

    @Test func aStoreOfTheOtherKindIsNoStoreOfThisKind() throws {
        let (a, b) = (try Sandbox(), try Sandbox())
        try expect(a, ["info", "lmdb:\(try store("sqlite", a))"], 65)
        try expect(b, ["info", "sqlite:\(try store("lmdb", b))"], 65)
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func aTruncatedStoreIsRefused(engine: String) throws {
        let sandbox = try Sandbox()
        let path = try store(engine, sandbox)
        try sandbox.run("copy", path, "\(engine):whole").expectSuccess()
        let whole = try Data(contentsOf: URL(fileURLWithPath: sandbox.path("whole")))
        for count in [100, 4_096, whole.count / 2, whole.count - 4_096] {
            try whole.prefix(count).write(to: URL(fileURLWithPath: sandbox.path("cut")))
            for reader in Self.readers.dropFirst() {
                try expect(sandbox, reader + ["\(engine):cut"], 65)
            }
            let check = try sandbox.run("check", "\(engine):cut")
            #expect([1, 65].contains(check.status), "\(count) bytes: \(check.errors)")
        }
    }

    @Test func aStoreOfANewerVersionIsRefusedByItsVersion() throws {
        let sandbox = try Sandbox()
        try sandbox.run("copy", try store("sqlite", sandbox), "sqlite:newer.sqlite").expectSuccess()
        try sandbox.run("copy", "newer.sqlite", "lmdb:newer.lmdb").expectSuccess()
        // The version is the database header's user_version, at byte 60, and a value of LMDB's metadata.
        var sqlite = try Data(contentsOf: sandbox.url.appendingPathComponent("newer.sqlite"))
        sqlite.replaceSubrange(60..<64, with: [0, 0, 0, 9])
        try sqlite.write(to: sandbox.url.appendingPathComponent("newer.sqlite"))
        var lmdb = try Data(contentsOf: sandbox.url.appendingPathComponent("newer.lmdb"))
        while let range = lmdb.range(of: Data("HabitStore 1".utf8)) {
            lmdb.replaceSubrange(range, with: Data("HabitStore 9".utf8))
        }
        try lmdb.write(to: sandbox.url.appendingPathComponent("newer.lmdb"))
        for path in ["newer.sqlite", "newer.lmdb"] {
            for reader in Self.readers { try expect(sandbox, reader + [path], 65, containing: "version 9") }
            try expect(sandbox, ["verify", path, path], 65, containing: "version 9")
            try expect(sandbox, ["copy", path, "sqlite:other"], 65, containing: "version 9")
        }
    }

    @Test func aFlippedByteIsFoundAndNeverShownAsData() throws {
        let sandbox = try Sandbox()
        try sandbox.want("lmdb")
        try sandbox.run("habit", "add", "Recognisable name").expectSuccess()
        let path = sandbox.path("data/habitstore/users/u-616c696365/store.lmdb")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        while let range = bytes.range(of: Data("Recognisable".utf8)) {
            bytes.replaceSubrange(range, with: Data("Unrecognised".utf8))
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        let check = try sandbox.run("check", path)
        #expect([1, 65].contains(check.status), "\(check.output)\(check.errors)")
        #expect(!(check.output + check.errors).contains("Unrecognised"))
        let query = try sandbox.run("query", "Habit", "--store", path)
        query.expectError(65)
        let list = try sandbox.run("habit", "list")
        list.expectError(65)
    }

    @Test func behindTheLastTokenThereAreNoChanges() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        let future = try sandbox.run("history", path, "--after", "99", "--format", "json")
        future.expectSuccess()
        #expect(try future.list("transactions").isEmpty)
    }

    @Test func personalValuesAreInErrorsOnlyWhenAskedFor() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        let query = ["query", "Entry", "date > \"someday soon\"", "--store", path]
        let quiet = try sandbox.run(query)
        quiet.expectError(64)
        #expect(!quiet.errors.contains("someday"))
        let verbose = try sandbox.run(query + ["--verbose"])
        verbose.expectError(64, containing: "(someday soon)")
    }

    @Test func unknownNamesInAQueryAreNamed() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        try expect(sandbox, ["query", "Habbit", "--store", path], 64, containing: "\"Habbit\"")
        try expect(sandbox, ["query", "Habit", "nmae == 1", "--store", path], 64, containing: "\"nmae\"")
        try expect(sandbox, ["query", "Habit", "--sort", "nmae", "--store", path], 64, containing: "\"nmae\"")
        try expect(sandbox, ["query", "Habit", "name > 5", "--store", path], 64)
    }

    @Test func aSyntaxErrorHasItsColumnAndACaret() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        let filter = "streak >= AND name"
        let run = try sandbox.run("query", "Habit", filter, "--store", path)
        run.expectError(64, containing: "column 11", lines: 3)
        let lines = run.errors.split(separator: "\n")
        #expect(lines[1] == "  \(filter)")
        #expect(lines[2] == "  " + String(repeating: " ", count: 10) + "^")
        // The caret is also in place after wide characters and control characters.
        let wide = try sandbox.run("query", "Habit", "name == \"漢字\u{1B}\" ==", "--store", path)
        wide.expectError(64, lines: 3)
        try expect(sandbox, ["query", "Habit", String(repeating: "(", count: 5_000), "--store", path], 64, lines: 3)
        try expect(sandbox, ["query", "Habit", String(repeating: "a", count: 70_000), "--store", path], 64)
    }

    @Test func wrongUsageIs64InOneLine() throws {
        let sandbox = try Sandbox()
        for arguments in [
            ["frobnicate"], ["verify"], ["verify", "a"], ["verify", "a", "b", "c"],
            ["verify", "a", "b", "--user", "x"],
            ["verify", "a", "b", "--fixtures", "f"], ["verify", "--fixtures", "f", "--root", "r"], ["info"],
            ["habit", "add"], ["habit", "add", ""], ["habit", "add", "x", "--times", "0"],
            ["habit", "add", "x", "--period", "many"], ["habit", "add", "x", "--target", "nan"],
            ["habit", "list", "--format", "xml"], ["habit", "edit", "x"], ["chart", "x", "--days", "0"],
            ["checkin", "x", "--value", "inf"], ["history", "x", "--after", "-1"], ["query", "Habit", "--limit", "-1"],
            ["search", ""], ["query", "Habit", "--count", "--explain"], ["tag", "add", " "],
        ] {
            try expect(sandbox, arguments, 64)
        }
    }

    @Test func aDateThatIsNoneIsRefusedAndNothingIsWritten() throws {
        let sandbox = try Sandbox()
        _ = try store("sqlite", sandbox)
        for date in ["someday", "2026-02-30", "2026-13-01", "", "12:00", "2026-01-01T25:00", "2026-01-01Tnoon"] {
            try sandbox.run("checkin", "Run", "--at", date).expectError(64, containing: "is not a date")
        }
        #expect(try sandbox.run("query", "Entry", "--count").output == "0\n")
    }

    @Test func aMalformedFlagFileIsNamedWithItsLineAndTheUserStays() throws {
        let sandbox = try Sandbox()
        _ = try store("lmdb", sandbox)
        let flags = try sandbox.write("broken.json", "{\n  \"flags\": {\n    oops\n")
        let run = try sandbox.run("status", "--flags", flags, "--format", "json")
        #expect(run.status == 0)
        #expect(run.errors.hasPrefix("habitstore: note: the flag file changes nothing: \(flags):3:"))
        #expect(run.errors.filter { $0 == "\n" }.count == 1)
        #expect(try run.json()["engine"] as? String == "lmdb")
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func aFolderWithoutPermissionIsReported() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        let folder = sandbox.path("closed")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder)
        try expect(sandbox, ["copy", path, "lmdb:\(folder)/x"], 74)
        try expect(sandbox, ["copy", path, "sqlite:\(folder)/x"], 74)
        try expect(sandbox, ["habit", "list", "--root", folder], 74)
    }

    /// A place that no user can write to, not even root.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self"), "needs a file system that refuses"))
    func aPlaceThatTakesNoFilesIsReported() throws {
        let sandbox = try Sandbox()
        let path = try store("sqlite", sandbox)
        for engine in ["sqlite", "lmdb"] { try expect(sandbox, ["copy", path, "\(engine):/proc/habitstore"], 74) }
        try expect(sandbox, ["habit", "list", "--root", "/proc/habitstore"], 74)
        try expect(sandbox, ["habit", "list", "--root", "/dev/null"], 74)
    }
}
