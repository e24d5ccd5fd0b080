import Foundation
import HabitStoreRollout
import Testing

/// Processes that die at each step of a backup, a restore or an erasure.
@Suite(.enabled(if: !CrashPoint.keeping.isEmpty, "needs a build with crash points"), .timeLimit(.minutes(5)))
struct KilledKeepingTests {
    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    private func habits() throws -> Set<String> {
        let found = try sandbox.run("habit", "list", "--format", "json")
        #expect(found.status == 0, "\(found.errors)")
        return Set(try found.list("habits").compactMap { $0["name"] as? String })
    }

    /// Runs the command until it reaches a crash point.
    ///
    /// - Returns: whether it did.
    private func run(_ arguments: [String], dyingAt point: String, count: Int = 1) throws -> Bool {
        try sandbox.start(arguments, environment: ["HABITSTORE_CRASH_POINT": "\(point):\(count)"]).end().isSignalled
    }

    private func points(_ prefix: String) -> [String] { CrashPoint.keeping.filter { $0.hasPrefix(prefix) } }

    @Test func aKilledBackupIsNoneOrWhole() throws {
        try sandbox.bring("alice", to: "live")
        for (number, point) in points("backup.").enumerated() {
            let name = "backup-\(number)"
            #expect(try run(["user", "backup", "alice", name], dyingAt: point), "\(point)")
            let isThere = FileManager.default.fileExists(atPath: sandbox.path(name))
            #expect(isThere == (point == "backup.published"), "\(point)")
            if isThere { try sandbox.run("user", "backup", "--verify", name).expectSuccess() }
        }
        #expect(try habits() == ["Run"])
        #expect(try run(["user", "backup", "alice", "killed"], dyingAt: "backup.copied"))
        // The next backup removes leftovers, and an erasure finds the rest.
        let next = try sandbox.run("user", "backup", "alice", "backup", "--format", "json")
        next.expectSuccess()
        #expect((try next.json()["removed"] as? [String])?.isEmpty == false)
        try sandbox.run("user", "erase", "alice").expectSuccess()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: sandbox.url.path).filter {
                $0.hasPrefix("backup") || $0.hasPrefix("killed")
            } == []
        )
    }

    /// The points that a restore of two stores reaches twice.
    private static let often = ["restore.aside", "restore.placed", "restore.role"]

    @Test(arguments: [true, false]) func aKilledRestoreLeavesTheUserAsBeforeOrIsFinished(isGone: Bool) throws {
        try sandbox.bring("alice", to: "live")
        try sandbox.run("user", "backup", "alice", "backup").expectSuccess()
        try sandbox.run("habit", "add", "Swim").expectSuccess()
        for point in points("restore.") {
            for count in Self.often.contains(point) ? 1...2 : 1...1 {
                if isGone { try FileManager.default.removeItem(atPath: sandbox.folder(of: "alice")) }
                let restore = ["user", "restore", "backup", "--replace", "--because", "a test"]
                let wasKilled = try run(restore, dyingAt: point, count: count)
                #expect(wasKilled, "\(point):\(count)")
                let isDecided = !["restore.copied", "restore.sealed"].contains(point) || !wasKilled
                // A read-only command shows neither state.
                if wasKilled, isDecided, point != "restore.finished" {
                    let asked = try sandbox.run("query", "Habit", "--format", "json")
                    #expect(asked.status != 0, "\(point): \(asked.output)")
                    let doctor = try sandbox.run("rollout", "doctor", "--user", "alice")
                    #expect(doctor.output.contains("a restore of the user was decided"), "\(point): \(doctor.output)")
                }
                if isGone, !isDecided {
                    // The user did not exist, and still does not.
                    try sandbox.run("user", "restore", "backup").expectSuccess()
                    #expect(try habits() == ["Run"], "\(point)")
                } else {
                    #expect(try habits() == (isDecided ? ["Run"] : ["Run", "Swim"]), "\(point):\(count)")
                }
                if isDecided {
                    // The process that finished the restore knows the place of the backup, instead of the killed one.
                    let erasure = try sandbox.run("user", "erase", "alice", "--dry-run")
                    #expect(erasure.output.contains(sandbox.path("backup")), "\(point): \(erasure.output)")
                }
                let doctor = try sandbox.run("rollout", "doctor", "--user", "alice")
                #expect(doctor.output.contains(" 0 open"), "\(point): \(doctor.output)")
                try sandbox.run("rollout", "evidence", "verify", "--user", "alice").expectSuccess()
                if isDecided { try sandbox.run("habit", "add", "Swim").expectSuccess() }
            }
        }
    }

    /// At `shadow` the new store is rebuilt, at `live` the old one. The bad store never returns.
    @Test(arguments: [("shadow", "lmdb"), ("live", "sqlite")])
    func aKilledResyncIsFinishedByTheNext(stage: String, bad: String) throws {
        for point in points("resync.") + ["backfill.begun", "backfill.copied"] {
            try sandbox.bring("alice", to: stage)
            try sandbox.run("checkin", "Run", "--note", "at dawn").expectSuccess()
            try sandbox.change(bad, sandbox.folder(of: "alice") + "/store.\(bad)", removes: false)
            #expect(try sandbox.run("rollout", "verify").status == 1)
            let resync = ["rollout", "resync", "--user", "alice", "--because", "a test"]
            #expect(try run(resync, dyingAt: point), "\(point)")
            #expect(try sandbox.run("rollout", "doctor", "--user", "alice").status == 1, "\(point)")
            let again = try sandbox.run(resync)
            #expect(again.status == 0 && again.output.contains("IDENTICAL"), "\(point): \(again.output)\(again.errors)")
            #expect(try sandbox.run("rollout", "demote", "--to", "off").status == 0)
            let entries = try sandbox.run("query", "Entry", "--format", "json")
            #expect(entries.output.contains("at dawn") && !entries.output.contains("script"), "\(point)")
            let doctor = try sandbox.run("rollout", "doctor", "--user", "alice")
            #expect(doctor.output.contains(" 0 open"), "\(point): \(doctor.output)")
            try sandbox.run("user", "erase", "alice").expectSuccess()
        }
    }

    @Test func aKilledErasureServesNobodyAndIsFinishedByTheNext() throws {
        for point in points("erase.") {
            try sandbox.bring("alice", to: "live")
            try sandbox.run("user", "backup", "alice", "backup").expectSuccess()
            #expect(try run(["user", "erase", "alice"], dyingAt: point), "\(point)")
            let isBegun = !["erase.elsewhere", "erase.renamed"].contains(point)
            if isBegun {
                #expect(try sandbox.run("habit", "list").status == 74, "\(point)")
                #expect(try sandbox.run("query", "Habit").status == 74, "\(point)")
                let doctor = try sandbox.run("rollout", "doctor", "--user", "alice")
                #expect(doctor.output.contains("is being erased"), "\(point): \(doctor.output)")
            }
            try sandbox.run("user", "erase", "alice").expectSuccess()
            #expect(try sandbox.state(of: "data/habitstore/users").isEmpty, "\(point)")
            #expect(!FileManager.default.fileExists(atPath: sandbox.path("backup")), "\(point)")
        }
    }
}
