import Foundation
import HabitStoreRollout
import HabitStoreTesting
import Testing

/// A problem with a fleet is reported in one line with an exit code, and no user is moved.
@Suite(.timeLimit(.minutes(10)))
struct FleetTroubleTests {
    private static let users = (0..<3).map { "user-\($0)" }
    private static let plan =
        #"{"waves": [{"name": "canary", "users": 1}, {"name": "all", "percent": 100}], "lookSeconds": 0.2, "ioPressure": null}"#

    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    /// Creates users under a root.
    private func prepare(_ root: String) throws {
        for user in Self.users {
            let added = try sandbox.run(
                ["habit", "add", "Run"],
                environment: ["HABITSTORE_USER": user, "HABITSTORE_ROOT": root]
            )
            try #require(added.status == 0, "\(added.errors)")
        }
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: root + "/" + name))
        }
        try write("habit-store.policy.json", #"{"cleanShadowReads": 0}"#)
        try write(
            "habit-store.flagd.json",
            #"{"flags": {"habit-store-stage": {"state": "ENABLED", "variants": {"complete": "complete"}, "defaultVariant": "complete"}}}"#
        )
        try sandbox.write("plan.json", Self.plan)
    }

    private func fleet(_ root: String, _ arguments: String...) throws -> CommandRun {
        try sandbox.run(["fleet"] + arguments, environment: ["HABITSTORE_ROOT": root])
    }

    private func stages(_ root: String) throws -> [String] {
        try Self.users.map { user in
            let shown = try sandbox.run(
                ["rollout", "status", "--format", "json"],
                environment: ["HABITSTORE_ROOT": root, "HABITSTORE_USER": user]
            )
            let own = try shown.list("users").first { $0["user"] as? String == user }
            return own?["stage"] as? String ?? "?"
        }
    }

    private func expectNobodyWasMoved(_ root: String) throws {
        #expect(try stages(root) == Self.users.map { _ in "off" })
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "no disk can be mounted here"))
    func aFullDiskMovesNobody() throws {
        let disk = try SmallDisk(megabytes: 4)
        let root = disk.path + "/root"
        try prepare(root)
        try disk.fill()
        let unplanned = try fleet(root, "plan", sandbox.path("plan.json"))
        unplanned.expectError(74, containing: "No space left")
        #expect(!FileManager.default.fileExists(atPath: root + "/fleet"))
        disk.drain()
        #expect(try fleet(root, "plan", sandbox.path("plan.json")).status == 0)
        try disk.fill()
        let run = try fleet(root, "run")
        run.expectError(74)
        disk.drain()
        try expectNobodyWasMoved(root)
        #expect(try fleet(root, "run").status == 0)
        #expect(try stages(root) == Self.users.map { _ in "complete" })
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "no disk can be mounted here"))
    func aRootThatIsReadOnlyMovesNobody() throws {
        let disk = try SmallDisk(megabytes: 8)
        let root = disk.path + "/root"
        try prepare(root)
        try disk.setWritable(false)
        try fleet(root, "plan", sandbox.path("plan.json")).expectError(74)
        try disk.setWritable(true)
        #expect(try fleet(root, "plan", sandbox.path("plan.json")).status == 0)
        try disk.setWritable(false)
        try fleet(root, "run").expectError(74)
        try fleet(root, "halt", "--because", "x").expectError(74)
        try disk.setWritable(true)
        try expectNobodyWasMoved(root)
        #expect(try fleet(root, "run").status == 0)
    }

    @Test func aDamagedIndexMovesNobody() throws {
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", sandbox.path("plan.json")).status == 0)
        try Data("no database, for certain".utf8).write(to: URL(fileURLWithPath: root + "/fleet/fleet.sqlite"))
        try fleet(root, "run").expectError(65, containing: "habitstore fleet audit --rebuild")
        try fleet(root, "status").expectError(65, containing: "habitstore fleet audit --rebuild")
        try expectNobodyWasMoved(root)
        #expect(try fleet(root, "audit", "--rebuild").status == 0)
        #expect(try fleet(root, "run").status == 0)
    }

    /// A plan with a hook that appends its input to `received`, and ends as the shell commands say.
    private func hookedPlan(answer: String, _ more: String = "") throws -> String {
        let program = try sandbox.write(
            "pager",
            """
            #!/bin/sh
            printf '%s\\t%s\\n' "$HABITSTORE_DELIVERY" "$(cat)" >>'\(sandbox.path("received"))'
            \(answer)

            """
        )
        chmod(program, 0o755)
        let hook = #"{"name": "pager", "program": "\#(program)"\#(more)}"#
        return try sandbox.write(
            "hooked.json",
            Self.plan.replacing(#""ioPressure": null"#, with: #""ioPressure": null, "hooks": [\#(hook)]"#)
        )
    }

    @Test func aHookThatFailsIsToldLaterAndHoldsUpNobody() throws {
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", hookedPlan(answer: "echo 'no network' >&2; exit 7")).status == 0)
        let run = try fleet(root, "run")
        #expect(
            run.status == 0 && run.errors.contains("the hook pager ended with exit code 7: no network"),
            "\(run.errors)"
        )
        let status = try fleet(root, "status")
        #expect(status.status == 0 && status.output.contains("the hook pager is owed"), "\(status.output)")
        #expect(try fleet(root, "hooks").output.contains("exit code 7"))
        #expect(try fleet(root, "hooks", "--send").status == 1)
        #expect(try fleet(root, "hooks", "--test").status == 1)
        let halted = try fleet(root, "halt", "--because", "x")
        #expect(halted.status == 0 && halted.output == "halted\n")
        #expect(halted.errors.contains("the next run tries again"), "\(halted.errors)")
    }

    /// A hook's message and its errors were temporary files: with a full or missing folder for them no hook ran, and the pager was silent when it was
    /// needed most.
    @Test func aHookNeedsNoTemporaryFolder() throws {
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", hookedPlan(answer: "echo 'no network' >&2; exit 7")).status == 0)
        let halted = try sandbox.run(
            ["fleet", "halt", "--because", "x"],
            environment: ["HABITSTORE_ROOT": root, "TMPDIR": sandbox.path("missing")]
        )
        #expect(halted.status == 0 && halted.errors.contains("ended with exit code 7: no network"), "\(halted.errors)")
        let received = try String(contentsOfFile: sandbox.path("received"), encoding: .utf8)
        #expect(received.contains(#""event":"drawn""#), "\(received)")
    }

    @Test func aHookThatFailsAndConfirmsWavesHoldsThemBack() throws {
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", hookedPlan(answer: "exit 1", #", "confirmsWaves": true"#)).status == 0)
        let process = try sandbox.start(["fleet", "run"], environment: ["HABITSTORE_ROOT": root])
        var doing = ""
        for _ in 0..<100 where !doing.contains("wave 1; it ended with exit code 1") {
            Thread.sleep(forTimeInterval: 0.1)
            doing = try fleet(root, "status").output
        }
        #expect(doing.contains("waiting for the hook pager to confirm wave 1; it ended with exit code 1"), "\(doing)")
        try expectNobodyWasMoved(root)
        // The run sends them; a halt does not have to.
        let halted = try fleet(root, "halt", "--because", "lunch")
        #expect(
            halted.status == 0 && halted.errors.contains("the run that is at work notifies the hooks"),
            "\(halted.errors)"
        )
        #expect(try process.end().status == 1)
        try expectNobodyWasMoved(root)
    }

    /// A run that is killed again and again leaves no line unsent, and sends them in order.
    @Test func aRunThatIsKilledLeavesNoLineUntold() throws {
        let seed = UInt64.random(in: 0...99_999)
        var generator = SeededGenerator(seed: seed)
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", hookedPlan(answer: "exit 0", #", "confirmsWaves": true"#)).status == 0)
        for _ in 0..<6 {
            _ = try sandbox.start(["fleet", "run"], environment: ["HABITSTORE_ROOT": root])
                .kill(afterSeconds: .random(in: 0.05...0.6, using: &generator))
        }
        let done = try fleet(root, "run")
        #expect(done.status == 0, "seed \(seed): \(done.errors)")
        var (told, names): ([Int], [Int: Set<String>]) = ([], [:])
        for line in try String(contentsOfFile: sandbox.path("received"), encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            try #require(parts.count == 2, "seed \(seed): a hook got no message")
            let body = try #require(try JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any])
            guard let sequence = body["sequence"] as? Int else { continue }
            if !told.contains(sequence) { told.append(sequence) }
            names[sequence, default: []].insert(String(parts[0]))
        }
        let lines = try String(contentsOfFile: root + "/fleet/ledger.jsonl", encoding: .utf8).split(separator: "\n")
            .count
        #expect(told == Array(1...lines), "seed \(seed)")
        #expect(names.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
        let report = try fleet(root, "report").output.split(separator: "\n")
        #expect(report.count { $0.contains("is confirmed") } == 2, "seed \(seed)")
    }

    /// A command that Ctrl-C or a service manager ended left the hook in progress, without its time limit.
    @Test(
        arguments: [
            (SIGINT, ["run"]), (SIGTERM, ["run"]), (SIGTERM, ["hooks", "--send"]),
            (SIGINT, ["pause", "--because", "a test"]),
        ]
    )
    func aSignalEndsTheHookWithTheCommand(signal: Int32, command: [String]) throws {
        let root = sandbox.path("root")
        try prepare(root)
        let file = sandbox.path("started")
        // The hook's child ignores SIGTERM.
        let answer =
            "(trap '' TERM INT; sleep 300) & echo \"$$ $!\" >'\(file).draft'; mv '\(file).draft' '\(file)'; wait"
        #expect(try fleet(root, "plan", hookedPlan(answer: answer)).status == 0)
        let process = try sandbox.start(["fleet"] + command, environment: ["HABITSTORE_ROOT": root])
        let limit = ContinuousClock.now + .seconds(60)
        while !FileManager.default.fileExists(atPath: file), ContinuousClock.now < limit {
            Thread.sleep(forTimeInterval: 0.02)
        }
        let words = try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        let ids = words.compactMap { Int32($0) }
        try #require(ids.count == 2)
        defer { for id in ids where Self.runs(id) { kill(id, SIGKILL) } }
        process.signal(signal)
        let run = try process.end(withinSeconds: 60)
        // The others have done their work, and may end before the signal ends them.
        #expect(command != ["run"] || run.isSignalled && run.status == signal, "\(run)")
        while ids.contains(where: Self.runs), ContinuousClock.now < limit { Thread.sleep(forTimeInterval: 0.02) }
        #expect(ids.filter(Self.runs) == [])
        // The next run sends the line again.
        _ = try hookedPlan(answer: "exit 0")
        if command[0] == "pause" { #expect(try fleet(root, "resume", "--because", "a test").status == 0) }
        let done = try fleet(root, "run")
        #expect(done.status == 0, "\(done.errors)")
    }

    /// Whether a process has not ended. A zombie has; containers without an init process keep orphans as zombies.
    private static func runs(_ id: Int32) -> Bool {
        guard kill(id, 0) == 0 else { return false }
        let status = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
        return !status.contains(") Z ")
    }

    @Test func aHookThatOthersMayChangeDrawsNothing() throws {
        let root = sandbox.path("root")
        try prepare(root)
        let plan = try hookedPlan(answer: "exit 0")
        chmod(sandbox.path("pager"), 0o777)
        try fleet(root, "plan", plan).expectError(74, containing: "chmod go-w")
        #expect(!FileManager.default.fileExists(atPath: root + "/fleet"))
    }

    /// Whoever can write the plan could make the account that halts the fleet execute any command.
    @Test func aHaltRunsNoHookOfAPlanThatOthersMayChange() throws {
        let root = sandbox.path("root")
        try prepare(root)
        #expect(try fleet(root, "plan", hookedPlan(answer: "exit 0")).status == 0)
        chmod(root + "/fleet/plan.json", 0o666)
        let tested = try fleet(root, "hooks", "--test")
        #expect(tested.status == 1 && tested.output.contains("others may change the fleet's plan"), "\(tested.output)")
        #expect(try fleet(root, "hooks", "--send").status == 1)
        let halted = try fleet(root, "halt", "--because", "x")
        #expect(halted.status == 0 && halted.output == "halted\n")
        #expect(halted.errors.contains("`chmod go-w` it"), "\(halted.errors)")
        #expect(halted.errors.contains("; the next run tries again"), "\(halted.errors)")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("received")))
        chmod(root + "/fleet/plan.json", 0o600)
        #expect(try fleet(root, "hooks", "--send").status == 0)
        #expect(try String(contentsOfFile: sandbox.path("received"), encoding: .utf8).contains("\"halted\""))
    }

    /// Retiring a wave: only its users' old stores are removed, and the fleet's ledger records it.
    @Test func aWaveIsRetiredByItsNameOrItsNumber() throws {
        let root = sandbox.path("root")
        try prepare(root)
        try Data(#"{"cleanShadowReads": 0, "retentionSeconds": 0}"#.utf8)
            .write(to: URL(fileURLWithPath: root + "/habit-store.policy.json"))
        #expect(try fleet(root, "plan", sandbox.path("plan.json")).status == 0)
        #expect(try fleet(root, "run").status == 0)
        func retire(_ arguments: String...) throws -> CommandRun {
            try sandbox.run(["rollout", "retire"] + arguments, environment: ["HABITSTORE_ROOT": root])
        }
        try retire("--wave", "no such").expectError(74, containing: "it has canary, all")
        try retire("--wave", "all", "--all").expectError(64, containing: "only one of these")
        let dry = try retire("--wave", "canary", "--dry-run")
        #expect(dry.status == 0 && dry.output.contains("1 could be removed"), "\(dry.output)")
        #expect(!(try fleet(root, "report").output.contains("retired")))
        let first = try retire("--wave", "canary")
        #expect(first.status == 0 && first.output.contains("1 removed, 0 kept, 0 failed, of 1"), "\(first.output)")
        let second = try retire("--wave", "2", "--format", "json")
        #expect(try second.list("users").count == 2)
        let report = try fleet(root, "report")
        #expect(report.status == 0 && report.output.contains("wave 1 was retired"), "\(report.output)")
        #expect(
            report.output.contains("the stores that 2 users had left are removed, those of 0 are kept"),
            "\(report.output)"
        )
    }

    @Test func aDryRunSaysWhoHowMuchAndHowLong() throws {
        let root = sandbox.path("root")
        try prepare(root)
        try sandbox.write("paced.json", Self.plan.replacing(#""users": 1"#, with: #""users": 1, "soakSeconds": 60"#))
        let dry = try fleet(root, "plan", sandbox.path("paced.json"), "--dry-run", "--users")
        #expect(dry.status == 0, "\(dry.errors)")
        for user in Self.users { #expect(dry.output.contains(user)) }
        let json = try fleet(root, "plan", sandbox.path("paced.json"), "--dry-run", "--format", "json")
        let (salt, waves) = (try #require(try json.json()["salt"] as? String), try json.list("waves"))
        #expect(waves[0]["leastSeconds"] as? Double == 60)
        let first = try #require((waves[0]["members"] as? [[String: Any]])?.first?["user"] as? String)
        // The draw is the one that was shown.
        #expect(try fleet(root, "plan", sandbox.path("paced.json"), "--salt", salt).status == 0)
        let members = try String(contentsOfFile: root + "/fleet/members.tsv", encoding: .utf8)
        #expect(
            members.contains("\n0\tnormal\t")
                && members.split(separator: "\n").contains { $0.hasPrefix("0\t") && $0.hasSuffix(first) }
        )
        try fleet(root, "plan", sandbox.path("paced.json"), "--salt", "xyz").expectError(
            64,
            containing: "32 hexadecimal digits"
        )
    }
}
