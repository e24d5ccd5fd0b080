import Foundation
import RawStoreFiles
import Testing

/// Damage in one user's store ended commands over many users with 74 and without a row: they did not name the user of the file, and skipped the users
/// after that one. Now the user is named with the problem, and all others are processed.
@Suite(.timeLimit(.minutes(10)))
struct ManyUsersTests {
    private static let users = ["ann", "bob", "cid", "dee"]

    /// Damage to the store that serves `bob`.
    enum Damage: String, CaseIterable {
        case sqliteHeader, sqliteCut, sqliteFolder, lmdbMeta, lmdbCut, lmdbRot

        var engine: String { rawValue.hasPrefix("sqlite") ? "sqlite" : "lmdb" }
        /// A stage at which the damaged store serves.
        var stage: String { engine == "sqlite" ? "shadow" : "complete" }

        func plant(in path: String) throws {
            let url = URL(fileURLWithPath: path)
            switch self {
            case .sqliteHeader, .lmdbMeta:
                let file = try FileHandle(forWritingTo: url)
                try file.write(contentsOf: Data(repeating: 0xA5, count: 12_288))
                try file.close()
            case .sqliteCut, .lmdbCut:
                let file = try FileHandle(forWritingTo: url)
                try file.truncate(atOffset: try file.seekToEnd() / 2)
                try file.close()
            case .sqliteFolder:
                try FileManager.default.removeItem(at: url)
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            case .lmdbRot:
                for database in ["metadata", "history", "Habit"] {
                    try RottenPage.nodesBeyond.plant(in: path, database: database)
                }
            }
        }
    }

    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    private func prepare(_ stage: String) throws {
        try sandbox.write("data/habitstore/habit-store.policy.json", #"{"cleanShadowReads": 0}"#)
        for user in Self.users { try sandbox.run("habit", "add", "Run", "--user", user).expectSuccess() }
        try sandbox.want(stage: stage)
        #expect(try sandbox.run("rollout", "advance", "--all", "--quiet").status == 0)
        let plan = #"{"waves": [{"name": "all", "percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#
        let planned = try sandbox.run("fleet", "plan", try sandbox.write("plan.json", plan))
        #expect(planned.status == 0, "\(planned.errors)")
    }

    /// Runs a command that must end with a status, name `bob`, and contain a text.
    private func expect(
        _ arguments: [String],
        _ status: Int32,
        says text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let run = try sandbox.run(arguments)
        let all = run.output + run.errors
        #expect(run.status == status, "\(arguments): \(all)", sourceLocation: sourceLocation)
        #expect(all.contains("bob"), "\(arguments): \(all)", sourceLocation: sourceLocation)
        #expect(all.contains(text), "\(arguments): \(all)", sourceLocation: sourceLocation)
    }

    @Test(arguments: Damage.allCases)
    func aDamagedStoreIsNamedAndHoldsUpNobodyElse(damage: Damage) throws {
        try prepare(damage.stage)
        if damage == .lmdbRot { try sandbox.run("habit", "list", "--user", "bob").expectSuccess() }
        try damage.plant(in: sandbox.folder(of: "bob") + "/store." + damage.engine)
        let shown = try sandbox.run("rollout", "status", "--format", "json")
        #expect(shown.status == 65, "\(shown.errors)")
        #expect(try shown.list("users").compactMap { $0["user"] as? String } == Self.users)
        try expect(["rollout", "status"], 65, says: "dee")
        try expect(["rollout", "doctor", "--all", "--quiet"], 1, says: "4 users checked")
        try expect(["rollout", "advance", "--all", "--quiet"], 65, says: "1 failed, of 4")
        // The store that would go is not opened to say that it stays.
        let retired: Int32 = damage.engine == "sqlite" ? 1 : 65
        try expect(["rollout", "retire", "--all", "--dry-run", "--quiet"], retired, says: "dee")
        try expect(["rollout", "rearm", "--all", "--quiet"], 65, says: "bob: NOT RE-ARMED")
        #expect(try sandbox.run("fleet", "status").status == 0)
        #expect(try sandbox.run("fleet", "metrics").status == 0)
        try expect(["fleet", "audit", "--quiet"], 1, says: "1 of 4 users")
        try expect(["rollout", "kill", "--quiet"], 65, says: "bob: NOT TAKEN BACK")
        for user in Self.users where user != "bob" {
            #expect(try sandbox.status(of: user)["stage"] as? String == "off")
        }
    }
}
