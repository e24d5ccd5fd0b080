import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import Testing

/// `habitstore fleet`, through the command's process.
@Suite(.timeLimit(.minutes(10)))
struct FleetTests {
    private let sandbox: Sandbox
    private let root: String
    private static let users = (0..<4).map { "user-\($0)" }

    init() throws {
        sandbox = try Sandbox()
        root = sandbox.path("data/habitstore")
        for user in Self.users {
            let added = try sandbox.run(["habit", "add", "Run"], environment: ["HABITSTORE_USER": user])
            try #require(added.status == 0, "\(added.errors)")
        }
        try sandbox.write("data/habitstore/habit-store.policy.json", #"{"cleanShadowReads": 0}"#)
        try sandbox.write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {"habit-store-stage": {
              "state": "ENABLED", "variants": {"complete": "complete"}, "defaultVariant": "complete"
            }}}
            """
        )
        try sandbox.write(
            "plan.json",
            #"{"waves": [{"name": "canary", "users": 1}, {"name": "all", "percent": 100}], "lookSeconds": 0.2, "ioPressure": null}"#
        )
    }

    private func run(_ arguments: String...) throws -> CommandRun { try sandbox.run(["fleet"] + arguments) }

    /// How often the user was moved forward. A move that its process did not live to record appears as a recovered one.
    private func promotions(of user: String) throws -> Int {
        try EvidenceLog(UserDirectory(root: root, user: user)).read().records.count { record in
            guard case .stageChanged(let from, let to, _, _, let reason, _, _) = record.event else { return false }
            return to > from && (reason == .promoted || reason == .recovered)
        }
    }

    @Test func metricsArePrintedForPrometheus() throws {
        #expect(try run("metrics").status == 74)
        #expect(try run("plan", sandbox.path("plan.json")).status == 0)
        #expect(try run("metrics").output.contains("habitstore_users{stage=\"unknown\",wave=\"all\"} 3\n"))
        try #require(try run("run").status == 0)
        let metrics = try run("metrics")
        metrics.expectSuccess()
        #expect(metrics.output.contains("habitstore_users{stage=\"complete\",wave=\"canary\"} 1\n"))
        #expect(metrics.output.contains("habitstore_fleet_state{state=\"done\"} 1\n"))
        #expect(!metrics.output.contains("user-0"), "a user is not a label")
        // Set if `make test` has found it.
        guard let promtool = ProcessInfo.processInfo.environment["HABITSTORE_PROMTOOL"] else { return }
        let file = try sandbox.write("metrics.prom", metrics.output)
        #expect(try ChildProcess.run(promtool, ["check", "metrics"], input: .file(file)).isSuccess)
    }

    @Test func aPlanIsDrawnRunAndReported() throws {
        let dry = try run("plan", sandbox.path("plan.json"), "--dry-run")
        #expect(dry.status == 0 && dry.output.contains("nothing was written"), "\(dry.errors)")
        #expect(!FileManager.default.fileExists(atPath: root + "/fleet"))
        #expect(try run("run").status == 74)
        #expect(try run("plan", sandbox.path("plan.json")).status == 0)
        #expect(try run("status").output.contains("planned: no user was moved yet"))
        #expect(try run("halt", "--because", "lunch").output == "halted\n")
        let halted = try run("run")
        #expect(halted.status == 1 && halted.output.contains("lunch"))
        #expect(try run("resume", "--because", "back").status == 0)
        let done = try run("run")
        #expect(done.status == 0 && done.output == "all waves are done\n", "\(done.errors)")
        #expect(done.errors.contains("wave 1 of 2"))
        #expect(try run("status").output.contains("done: all 2 waves are done"))
        let report = try run("report")
        #expect(report.status == 0 && report.output.contains("HALTED") && report.output.contains("whole"))
        #expect(try run("audit", "--seed", "3").status == 0)
        for user in Self.users { #expect(try promotions(of: user) == 5) }
    }

    /// The reason of a halt advised `--user U`, although the line itself named the user.
    @Test func aHaltAdvisesWithItsUser() throws {
        try sandbox.write(
            "plan.json",
            #"{"waves": [{"percent": 100}], "lookSeconds": 0.2, "ioPressure": null, "halts": {"errorsInARow": 1}}"#
        )
        #expect(try run("plan", sandbox.path("plan.json")).status == 0)
        try sandbox.write("data/habitstore/users/u-757365722d31/erasing", "")
        let advice = "`habitstore user erase --user user-1"
        let halted = try run("run")
        #expect(halted.status == 1)
        #expect(halted.output.contains("\(advice)` finishes it"), "\(halted.output)")
        #expect(halted.output.contains("(user user-1)"))
        let status = try run("status", "--root", root)
        #expect(status.output.contains("\(advice) --root \(ShellWord.quoted(root))` finishes it"), "\(status.output)")
        let json = try run("status", "--format", "json").json()
        #expect((json["doing"] as? String)?.contains("\(advice)`") == true, "\(json)")
    }

    @Test func aPlanThatIsWrongIsToldByItsPlace() throws {
        try sandbox.write("wrong.json", "{\n  \"waves\": [{\"users\": -1}]\n}")
        let wrong = try run("plan", sandbox.path("wrong.json"))
        #expect(wrong.status == 65)
        #expect(wrong.errors.contains("wrong.json:2:23: users must be a whole number from 1"), "\(wrong.errors)")
        #expect(!FileManager.default.fileExists(atPath: root + "/fleet"))
    }

    /// A run that is killed again and again loses no user and moves none twice.
    @Test func aRunThatIsKilledGoesOnWhereItWas() throws {
        let seed = UInt64.random(in: 0...99_999)
        var generator = SeededGenerator(seed: seed)
        #expect(try run("plan", sandbox.path("plan.json")).status == 0)
        let members = try #require(FileManager.default.contents(atPath: root + "/fleet/members.tsv"))
        for _ in 0..<8 {
            _ = try sandbox.start(["fleet", "run"]).kill(afterSeconds: .random(in: 0.05...0.8, using: &generator))
        }
        let done = try run("run")
        #expect(done.status == 0, "seed \(seed): \(done.errors)")
        #expect(FileManager.default.contents(atPath: root + "/fleet/members.tsv") == members)
        for user in Self.users { #expect(try promotions(of: user) == 5, "seed \(seed), \(user)") }
        let report = try run("report")
        #expect(report.status == 0 && report.output.contains("whole"), "seed \(seed)")
        #expect(report.output.split(separator: "\n").count { $0.contains("wave 1 is done") } == 1, "seed \(seed)")
    }
}
