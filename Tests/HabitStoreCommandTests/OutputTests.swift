import Foundation
import HabitStoreTesting
import Testing

/// The command's output: its contents, its place, and the behaviour without a reader.
struct OutputTests {
    /// Runs a shell line in which `$H` is the command.
    private func shell(_ line: String, _ sandbox: Sandbox) throws -> CommandRun {
        let variables = [
            "H": try Sandbox.binary(), "HOME": sandbox.url.path, "PATH": "/usr/bin:/bin",
            "HABITSTORE_USER": "alice", "HABITSTORE_ROOT": sandbox.path("data/habitstore"),
        ]
        return try ChildProcess.run("/bin/sh", ["-c", line], in: sandbox.url, environment: variables, errors: .output)
    }

    @Test func theVersionIsTold() throws {
        let run = try Sandbox().run("--version")
        run.expectSuccess()
        #expect(run.output == "0.1.0\n")
    }

    @Test func helpGoesToStandardOutput() throws {
        for arguments in [["--help"], [], ["habit"], ["help", "verify"], ["verify", "--help"]] {
            let run = try Sandbox().run(arguments)
            run.expectSuccess()
            #expect(run.output.contains("habitstore"))
        }
    }

    @Test func controlCharactersOfDataAreMadeVisible() throws {
        let sandbox = try Sandbox()
        let name = "\u{1B}[31mred\u{7}\nline"
        try sandbox.run("habit", "add", name, "--category", "\u{202E}rtl").expectSuccess()
        for arguments in [
            ["habit", "list"], ["habit", "show", name], ["chart", name], ["query", "Habit"], ["search", "red"],
        ] {
            let run = try sandbox.run(arguments)
            run.expectSuccess()
            #expect(!run.output.unicodeScalars.contains { $0.value == 0x1B || $0.value == 7 || $0.value == 0x202E })
            #expect(run.output.contains("\\u{1B}[31mred"))
        }
        // JSON escapes the name, so that programs get it unchanged.
        let habit = try #require(try sandbox.run("habit", "list", "--format", "json").list("habits").first)
        #expect(habit["name"] as? String == name)
    }

    /// C1 controls, DEL and directional marks were written to the terminal unescaped.
    @Test func controlCharactersOfDataAreEscapedInJSONAndReadTheSame() throws {
        let sandbox = try Sandbox()
        let name = "a\u{7F}b\u{9B}31mc\u{202E}d\u{2066}e\u{200F}f\u{61C}g\u{2028}h\u{1B}é👍"
        try sandbox.run("habit", "add", name).expectSuccess()
        let run = try sandbox.run("habit", "list", "--format", "json")
        run.expectSuccess()
        for hidden in ["\u{7F}", "\u{9B}", "\u{202E}", "\u{2066}", "\u{200F}", "\u{61C}", "\u{2028}", "\u{1B}"] {
            #expect(!run.output.unicodeScalars.contains(hidden.unicodeScalars.first!), "\(hidden.debugDescription)")
        }
        #expect(try run.list("habits").first?["name"] as? String == name)
    }

    /// Bytes that are not UTF-8 became U+FFFD: two such ids were one user.
    @Test func anArgumentThatIsNotTextIsRefused() throws {
        let sandbox = try Sandbox()
        let before = try sandbox.state()
        let run = try shell(#""$H" habit add Run --user "$(printf 'a\377b')""#, sandbox)
        #expect(run.status == 64)
        #expect(run.output == "habitstore: error: argument 5 is not UTF-8; names, ids and paths have to be\n")
        #expect(try sandbox.state() == before)
    }

    /// If another program truncated a mapped file, the command crashed and printed registers and memory to the terminal.
    @Test func memoryThatIsTakenAwayEndsInOneLine() throws {
        let sandbox = try Sandbox()
        // More than fits into a pipe, so that the command is still running when the signal arrives.
        try sandbox.run("draft", "add", String(repeating: "long ", count: 20_000)).expectSuccess()
        let run = try shell(
            #"mkfifo p; "$H" draft list --format json >p 2>err & exec 3<p; head -c 1 <&3 >first; kill -BUS $!; wait $!; "#
                + "echo $?; cat err",
            sandbox
        )
        #expect(
            run.output.hasPrefix("74\nhabitstore: error: a store's file was cut off by another program"),
            "\(run.output)"
        )
        #expect(run.output.filter { $0 == "\n" }.count == 2)
    }

    @Test func aReaderThatGoesAwayIsNoNoise() throws {
        let sandbox = try Sandbox()
        // More than fits into a pipe, so that the command is still writing when its reader is gone.
        try sandbox.run("draft", "add", String(repeating: "long ", count: 20_000)).expectSuccess()
        try sandbox.run("draft", "add", String(repeating: "text ", count: 20_000)).expectSuccess()
        for command in [
            "\"$H\" draft list --format json | head -c 1 >/dev/null", "\"$H\" draft list --format json | true",
        ] {
            let run = try shell(command, sandbox)
            #expect(run.output.isEmpty, "\(run.output)")
            #expect(run.status == 0)
        }
        let status = try shell("{ \"$H\" draft list --format json; echo $? >status; } | true; cat status", sandbox)
        #expect(status.output == "141\n")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "needs a device that is always full"))
    func anOutputThatCannotBeWrittenIsAnError() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let run = try shell("\"$H\" habit list >/dev/full", sandbox)
        #expect(run.status == 74)
        #expect(run.output.hasPrefix("habitstore: error: the output cannot be written"))
    }

    /// A store's file that was opened first got the descriptor of a closed standard error, and error messages were written into it.
    @Test(arguments: ["sqlite", "lmdb"])
    func closedStandardStreamsAreNeverAStore(engine: String) throws {
        let sandbox = try Sandbox()
        try sandbox.want(engine)
        try sandbox.run("habit", "add", "Run").expectSuccess()
        // The next opening records what the user's first move has left to do.
        try sandbox.run("habit", "list").expectSuccess()
        let before = try sandbox.state()
        let closed = "<&- >&- 2>&-; echo $? >status"
        #expect(try shell("\"$H\" habit list \(closed); cat status; rm status", sandbox).output == "74\n")
        #expect(try shell("\"$H\" checkin nobody \(closed); cat status; rm status", sandbox).output == "64\n")
        #expect(try shell("\"$H\" habit list <&- 2>&- | head -1; rm -f status", sandbox).output.hasPrefix("id "))
        #expect(try sandbox.state() == before)
        let store = sandbox.path("data/habitstore/users/u-616c696365/store.\(engine)")
        #expect(try sandbox.run("check", store).status == 0)
    }

    @Test func jsonHasSortedKeysAndExactDates() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("checkin", "Run", "--at", "2026-01-31T08:30:00.125Z").expectSuccess()
        let run = try sandbox.run("entry", "list", "Run", "--format", "json")
        let entry = try #require(try run.list("entries").first)
        #expect(entry["date"] as? String == "2026-01-31T08:30:00.125Z")
        #expect(entry["dateReference"] as? Double == 791_541_000.125)
        let keys = run.output.split(separator: "\n").compactMap { line -> String? in
            guard line.hasPrefix("      \"") else { return nil }
            return line.split(separator: "\"").dropFirst().first.map(String.init)
        }
        #expect(keys == keys.sorted())
        #expect(keys.count == 7)
    }

    /// The output follows another process's writes.
    @Test func listsAreShownAnewWhenSomethingWasWritten() throws {
        let sandbox = try Sandbox()
        let line = """
            seen() { for n in $(seq 400); do grep -q "$1" $2 && return 0; sleep 0.05; done; return 1; }
            $H habit add Run >/dev/null
            $H habit list --watch >list & list=$!
            $H chart Run --watch --format json >chart & chart=$!
            store=$HABITSTORE_ROOT/users/u-616c696365/store.sqlite
            $H history $store --follow --format json >history & history=$!
            seen Run list && seen '"longestStreak":0' chart && seen '"author":"habitstore"' history || exit 3
            $H habit add Swim >/dev/null
            $H checkin Run >/dev/null
            seen Swim list && seen '"longestStreak":1' chart && seen '"entity":"Entry"' history || exit 4
            kill $list $chart $history
            wc -l <history
            """
        let run = try shell(line, sandbox)
        #expect(run.status == 0, "\(run)")
        #expect(run.output.trimmingCharacters(in: .whitespacesAndNewlines) == "3", "\(run)")
        let list = try String(contentsOfFile: sandbox.path("list"), encoding: .utf8)
        #expect(!list.contains("\u{1B}"), "what drives a terminal goes to terminals only")
        #expect(try shell("$H history x.sqlite --follow --limit 3", sandbox).status == 64)
    }
}
