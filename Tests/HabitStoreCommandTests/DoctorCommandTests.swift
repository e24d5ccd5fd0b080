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

/// A kill does not read the whole old store. If that is damaged in a page that opening does not touch, the new store has everything.
///
/// `rollout kill` reported success and the doctor found nothing, while every list ended with "the database disk image is malformed; restore a
/// backup". `resync` failed with the same words, after a re-arm `advance` moved the user on, and only `rollout accept --engine lmdb`, which no message
/// named, helped.
struct DamagedOldStoreTests {
    /// Overwrites the pages with the records of a table, which opening does not read.
    private func damageRecords(_ sandbox: Sandbox) throws {
        let path = sandbox.folder(of: "alice") + "/store.sqlite"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // The name is stored in the leaf page of the habits.
        let name = try #require(bytes.range(of: Data("Unmistakable".utf8)))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(name.lowerBound / 4_096 * 4_096))
        try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
    }

    private func killed() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.bring("alice", to: "off")
        try sandbox.run("habit", "add", "Unmistakable").expectSuccess()
        try sandbox.bring("alice", to: "live")
        try damageRecords(sandbox)
        let kill = try sandbox.run("rollout", "kill")
        kill.expectSuccess()
        #expect(kill.output.contains("`habitstore rollout doctor` checks the old store"), "\(kill.output)")
        return sandbox
    }

    @Test func theDoctorNamesTheSoundStoreAndTheCommandThatServesIt() throws {
        let sandbox = try killed()
        let list = try sandbox.run("habit", "list")
        #expect(list.status == 65, "\(list.output)")
        #expect(list.errors.contains("restore no backup yet") && list.errors.contains("rollout doctor --user "))
        #expect(!list.errors.hasSuffix("restore a backup\n"), "\(list.errors)")
        for arguments in [[], ["--fix"]] {
            let doctor = try sandbox.run(["rollout", "doctor"] + arguments)
            #expect(doctor.status == 1, "\(doctor.output)")
            #expect(doctor.output.contains("the sqlite store serves the user, and is damaged: "), "\(doctor.output)")
            #expect(doctor.output.contains("the lmdb store is sound, at token "), "\(doctor.output)")
        }
        let findings = try #require(
            try sandbox.run("rollout", "doctor", "--format", "json").list("users").first?["findings"]
                as? [[String: Any]]
        )
        let remedy = try #require(findings.first { $0["kind"] as? String == "damaged" }?["remedy"] as? String)
        let command = try #require(remedy.split(separator: "`").dropFirst().first)
        let root = sandbox.path("data/habitstore")
        #expect(command.hasPrefix("habitstore rollout accept --root \(root) --user alice --engine lmdb --because "))
        try sandbox.run(
            "rollout",
            "accept",
            "--root",
            root,
            "--user",
            "alice",
            "--engine",
            "lmdb",
            "--because",
            "sqlite is damaged"
        ).expectSuccess()
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        #expect(habits.compactMap { $0["name"] as? String }.sorted() == ["Run", "Unmistakable"])
        try sandbox.run("rollout", "doctor").expectSuccess()
    }

    @Test func nothingIsCopiedFromTheDamagedStoreAndTheUserIsNotMovedOn() throws {
        let sandbox = try killed()
        let resync = try sandbox.run("rollout", "resync", "--user", "alice", "--because", "they differ")
        #expect(resync.status == 65, "\(resync.output)")
        #expect(resync.errors.contains("nothing was copied from it"), "\(resync.errors)")
        #expect(resync.errors.contains("says whether the lmdb store is sound"), "\(resync.errors)")
        try sandbox.run("rollout", "rearm", "--all").expectSuccess()
        let advance = try sandbox.run("rollout", "advance", "--user", "alice")
        #expect(advance.status == 65, "\(advance.output)")
        #expect((advance.output + advance.errors).contains("and the user stays"), "\(advance.output)\(advance.errors)")
        #expect(try sandbox.status()["stage"] as? String == "off")
        let doctor = try sandbox.run("rollout", "doctor")
        #expect(doctor.status == 1)
        #expect(doctor.output.contains("rollout accept"), "\(doctor.output)")
    }
}
