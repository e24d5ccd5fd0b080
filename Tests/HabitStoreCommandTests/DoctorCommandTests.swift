import Foundation
import HabitStore
import Testing

/// `habitstore rollout doctor` and `adopt`: a problem is reported with its remedy, and a restored store is served only after an operator has accepted
/// it.
struct DoctorCommandTests {
    @Test func aStoreThatWasPutBackIsNamedAndAccepted() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        let store = sandbox.folder(of: "alice") + "/store.sqlite"
        try FileManager.default.copyItem(atPath: store, toPath: sandbox.path("backup"))
        let log = store + "-wal"
        let hadLog = FileManager.default.fileExists(atPath: log)
        if hadLog { try FileManager.default.copyItem(atPath: log, toPath: sandbox.path("backup-wal")) }
        try sandbox.run("habit", "add", "Read", "--user", "alice").expectSuccess()
        try sandbox.run("rollout", "doctor").expectSuccess()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
        try FileManager.default.copyItem(atPath: sandbox.path("backup"), toPath: store)
        if hadLog { try FileManager.default.copyItem(atPath: sandbox.path("backup-wal"), toPath: log) }
        let refused = try sandbox.run("habit", "list", "--user", "alice")
        #expect(refused.status == 65)
        let advice = "--engine sqlite --because TEXT`"
        #expect(refused.errors.contains("`habitstore rollout accept --user alice \(advice)"), "\(refused.errors)")
        let root = sandbox.path("data/habitstore")
        let elsewhere = try sandbox.run("habit", "list", "--user", "alice", "--root", root)
        let pasted = "`habitstore rollout accept --user alice --root \(ShellWord.quoted(root)) \(advice)"
        #expect(elsewhere.errors.contains(pasted), "\(elsewhere.errors)")
        let found = try sandbox.run("rollout", "doctor", "--fix")
        #expect(found.status == 1)
        #expect(found.output.contains("it was put back from a copy, or swapped"))
        #expect(found.output.hasSuffix("1 user checked, 0 findings repaired, 1 open\n"))
        try sandbox.run("rollout", "accept", "--user", "alice", "--engine", "sqlite", "--because", " ").expectError(64)
        try sandbox.run("rollout", "accept", "--user", "alice", "--engine", "sqlite", "--because", "lost")
            .expectSuccess()
        let habits = try sandbox.run("habit", "list", "--user", "alice", "--format", "json").list("habits")
        #expect(habits.map { $0["name"] as? String } == ["Run"])
        try sandbox.run("rollout", "doctor").expectSuccess()
    }

    /// The doctor reported "0 open" for a user whom every other command refused, since the file `user` named a different user.
    @Test func aFileThatNamesAnotherUserIsNamedInOneLine() throws {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        let file = sandbox.folder(of: "alice") + "/user"
        try Data("mallory".utf8).write(to: URL(fileURLWithPath: file))
        for arguments in [["--user", "alice"], ["--all"], ["--fix"]] {
            let found = try sandbox.run(["rollout", "doctor"] + arguments)
            #expect(found.status == 1)
            let lines = found.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("alice: the file \"user\" names another user") == true, "\(found.output)")
            #expect(!found.output.contains("mallory"))
        }
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(try sandbox.run("rollout", "doctor", "--user", "alice").status == 1)
        try sandbox.run("rollout", "doctor", "--user", "alice", "--fix").expectSuccess()
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "alice")
        try sandbox.run("rollout", "doctor").expectSuccess()
        try FileManager.default.removeItem(atPath: file)
        try #require(mkfifo(file, 0o600) == 0)
        #expect(try sandbox.run("rollout", "doctor", "--user", "alice").status == 1)
    }
}
