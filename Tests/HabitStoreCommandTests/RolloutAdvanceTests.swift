import Foundation
import Testing

/// `habitstore rollout advance`: moves many users as far as the gate allows, and can be continued.
struct RolloutAdvanceTests {
    private static let users = ["ada", "berta", "carl", "dora"]

    private func sandbox(wanting stage: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.askForLittle()
        for user in Self.users { try sandbox.run("habit", "add", "Run", "--user", user).expectSuccess() }
        try sandbox.want(stage: stage)
        return sandbox
    }

    @Test func allAreMovedAsFarAsTheGateLets() throws {
        let sandbox = try sandbox(wanting: "live")
        let first = try sandbox.run("rollout", "advance", "--all", "--jobs", "3", "--format", "json")
        #expect(first.status == 1, "\(first.errors)")
        let reports = try first.list("users")
        #expect(reports.map { $0["user"] as? String } == Self.users)
        #expect(reports.allSatisfy { $0["to"] as? String == "shadow" })
        #expect(try first.json()["moved"] as? Int == 4)
        #expect(try first.json()["keptBack"] as? Int == 4)
        for _ in 0..<2 { try sandbox.run("habit", "list", "--user", "carl").expectSuccess() }
        let second = try sandbox.run("rollout", "advance", "--all")
        #expect(second.status == 1)
        #expect(second.output.contains("carl: shadow → live\n"))
        #expect(second.output.contains("ada: stays at shadow\n  refused, live is wanted:\n"))
        #expect(second.output.hasSuffix("1 moved, 3 not where the flags want, 0 failed, of 4\n"), "\(second.output)")
        try sandbox.want(stage: "shadow")
        try sandbox.run("rollout", "advance", "--all").expectSuccess()
    }

    @Test func oneUserWhoCannotBeReadStopsNobodyElse() throws {
        let sandbox = try sandbox(wanting: "dualwrite")
        try sandbox.damage("sqlite", of: "berta")
        let run = try sandbox.run("rollout", "advance", "--all")
        #expect(run.status == 65)
        #expect(run.output.contains("berta: FAILED: "))
        #expect(run.output.hasSuffix("3 moved, 0 not where the flags want, 1 failed, of 4\n"), "\(run.output)")
    }

    @Test func whatWasKilledGoesOnWhereItWas() throws {
        let sandbox = try sandbox(wanting: "shadow")
        for milliseconds in [5, 20, 40, 80, 120, 160] {
            _ = try sandbox.start(["rollout", "advance", "--all"], environment: ["HABITSTORE_USER": nil])
                .kill(afterSeconds: Double(milliseconds) / 1_000)
        }
        try sandbox.run("rollout", "advance", "--all").expectSuccess()
        for user in Self.users {
            #expect(try sandbox.status(of: user)["stage"] as? String == "shadow")
            #expect(try sandbox.run("rollout", "evidence", "--user", user).status == 0)
            let verified = try sandbox.run("rollout", "verify", "--user", user)
            #expect(verified.status == 0, "\(verified.output)")
        }
    }

    @Test func wrongNumbersAreRefused() throws {
        let sandbox = try Sandbox()
        try sandbox.run("rollout", "advance", "--all", "--jobs", "0").expectError(64, containing: "--jobs")
        try sandbox.run("rollout", "advance", "--all", "--user", "ada").expectError(64, containing: "not both")
        try sandbox.run("rollout", "advance", "--all", "--wait=-1").expectError(64, containing: "--wait")
        try sandbox.run("rollout", "rearm").expectError(64, containing: "--all")
    }

    @Test func thePolicyComesFromTheOptionElseTheEnvironmentElseTheRoot() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "shadow")
        try sandbox.want(stage: "live")
        let named = try sandbox.write("named.json", #"{"cleanShadowReads": 11}"#)
        let other = try sandbox.write("other.json", #"{"cleanShadowReads": 12}"#)
        func needed(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String {
            try sandbox.run(["rollout", "promote"] + arguments, environment: environment).output
        }
        #expect(try needed([]).contains("0 of 2 clean"))
        #expect(try needed([], ["HABITSTORE_POLICY": other]).contains("0 of 12 clean"))
        #expect(try needed(["--policy", named], ["HABITSTORE_POLICY": other]).contains("0 of 11 clean"))
        let config = try sandbox.write("config.json", "{\"policy\": \"\(named)\"}")
        #expect(try needed(["--config", config]).contains("0 of 11 clean"))
        for text in ["", "{", "[]", "5", #"{"cleanReads": 1}"#, #"{"maximumLag": -1}"#, #"{"maximumLag": "no"}"#] {
            try sandbox.write("bad.json", text)
            try sandbox.run("rollout", "promote", "--policy", "bad.json").expectError(64, containing: "bad.json")
        }
        try sandbox.run("rollout", "promote", "--policy", "none.json").expectError(74, containing: "none.json")
    }
}
