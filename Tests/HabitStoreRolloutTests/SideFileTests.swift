import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A link, folder or named pipe instead of a file next to a store made every write fail, with advice about the disk, while the doctor found
/// nothing. With a named pipe instead of SQLite's journal, even a kill waited forever.
@Suite(.timeLimit(.minutes(5)))
struct SideFileTests {
    enum Odd: String, CaseIterable {
        case link, danglingLink, loop, folder, pipe, socket
    }

    static let names = [
        "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal", "store.sqlite-lock", "store.lmdb-lock",
        "store.lmdb-sound", "control", SwitchLock.fileName, CopyLock.fileName, "rehearsing.lock", "restoring.lock",
    ]

    private func put(_ odd: Odd, at path: String, _ target: String) throws {
        switch odd {
        case .link:
            try Data().write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        case .danglingLink:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .loop: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        case .pipe: try #require(mkfifo(path, 0o600) == 0)
        case .socket: try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        }
    }

    /// A link to itself or a socket in place of `switch.lock` kept every command from the user, and the doctor, which asked where the link leads, found
    /// nothing.
    @Test(arguments: [SwitchLock.fileName, CopyLock.fileName, "control"], [Odd.loop, .folder, .socket])
    func theDoctorSaysHowToMoveItAway(name: String, odd: Odd) throws {
        let kept = try KeptUser(at: .live)
        let path = try kept.path + "/" + name
        try? FileManager.default.removeItem(atPath: path)
        try put(odd, at: path, "")
        let before = try kept.names()
        let found = try kept.user.stores().examine("alice").filter { $0.message.contains(path) }
        #expect(found.map(\.kind) == [.unreadable] && found.map(\.canBeMended) == [false])
        #expect(found.first?.remedy == "move it away: `mv \(path) \(path).aside`")
        #expect(try kept.names() == before)
    }

    /// As an ordinary account, `chmod 0` on a file next to the store refused every write, and the doctor found nothing.
    @Test(
        .disabled(if: getuid() == 0, "permissions do not bind root"),
        arguments: [
            "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-lock", "store.lmdb-lock", "control", "switch.lock",
        ]
    )
    func theDoctorSaysHowToGetThePermissionBack(name: String) throws {
        let kept = try KeptUser(at: .live)
        let path = try kept.path + "/" + name
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        try #require(chmod(path, 0) == 0)
        defer { chmod(path, 0o600) }
        let found = try kept.user.stores().examine("alice").filter { $0.message.contains(path) }
        #expect(found.map(\.remedy).contains("`chmod u+rw \(path)`"), "\(found)")
    }

    /// With a pipe in place of `store.lmdb-lock` at `live`, the doctor also said that no store was authoritative and that lines of the evidence did not
    /// count, because it had asked only the store that follows.
    @Test func whatFollowsFromAnUnreadStoreIsNotAFinding() throws {
        let kept = try KeptUser(at: .live)
        let path = try kept.path + "/store.lmdb-lock"
        try? FileManager.default.removeItem(atPath: path)
        try put(.pipe, at: path, "")
        let found = try kept.user.stores().examine("alice")
        #expect(found.count == 1 && found.first?.kind == .unreadable, "\(found)")
        #expect(found.first?.message.contains(path) == true, "\(found)")
        #expect(found.first?.remedy == "move it away: `mv \(path) \(path).aside`")
    }

    /// What keeps a user from being read or written is a finding that names the file, and once the file is gone nothing is lost.
    @Test(arguments: [Stage.off, .live, .complete], names)
    func whatIsInTheWayIsNamed(stage: Stage, name: String) throws {
        let kept = try KeptUser(at: stage)
        let (path, aside) = (try kept.path + "/" + name, kept.user.folder.path("aside"))
        var written = ["a", "b"]
        for odd in Odd.allCases {
            let isThere = FileManager.default.fileExists(atPath: path)
            if isThere { try FileManager.default.moveItem(atPath: path, toPath: aside) }
            try put(odd, at: path, kept.user.folder.path("target-\(odd)"))
            let findings = try kept.user.stores().examine("alice")
            do {
                try kept.with { try $0.save(Draft(content: odd.rawValue)) }
                written.append(odd.rawValue)
                #expect(try kept.contents() == written.sorted())
            } catch {
                let isNamed = findings.contains { $0.message.contains(name) }
                #expect(isNamed, "\(odd) \(name) at \(stage): \(error); the doctor said \(findings)")
            }
            try FileManager.default.removeItem(atPath: path)
            if isThere { try FileManager.default.moveItem(atPath: aside, toPath: path) }
            _ = try kept.user.stores().mend("alice")
        }
        #expect(try kept.contents() == written.sorted())
        try kept.write("c")
        #expect(try kept.user.stores().examine("alice").isEmpty)
    }

    /// If the disk of a store was not mounted, its link led nowhere, and the commands said that there was no such user; the doctor advised removing
    /// the folder. The link is named with what it leads to, nothing is made in its place, and the user is served once the file is back.
    @Test(arguments: [Stage.off, .live])
    func aStoreWhoseLinkLeadsNowhereIsNamed(stage: Stage) throws {
        let kept = try KeptUser(at: stage)
        let (link, target) = (try kept.user.address(.old).path, kept.user.folder.path("elsewhere.sqlite"))
        try FileManager.default.createSymbolicLink(atPath: link + ".link", withDestinationPath: target)
        try FileManager.default.moveItem(atPath: link, toPath: link + ".kept")
        try FileManager.default.moveItem(atPath: link + ".link", toPath: link)
        let stores = try kept.user.stores()
        let findings = try stores.examine("alice")
        let named = findings.filter { $0.message.contains(target) && $0.message.contains(link) }
        #expect(named.count == 1, "\(findings)")
        // Nothing that serves is given up.
        #expect(findings.contains { $0.remedy.contains("remove the link") } == (stage == .live), "\(findings)")
        #expect(findings.allSatisfy { !$0.remedy.contains("remove the folder") }, "\(findings)")
        let problem = try stores.status(of: "alice").problems.first { $0.place == "sqlite" }
        #expect(problem?.error.message.contains("a link that leads nowhere, to \(target)") == true)
        let error = #expect(throws: HabitStoreError.self) {
            let store = try stores.existingStore(for: "alice")
            defer { store.close() }
            try store.save(Draft(content: "not acknowledged"))
        }
        #expect(
            error.map { "\($0)" }?.contains("a link that leads nowhere, to \(target)") == true,
            "\(String(describing: error))"
        )
        #expect(!FileManager.default.fileExists(atPath: target))
        try FileManager.default.removeItem(atPath: link)
        if stage == .off {
            try FileManager.default.moveItem(atPath: link + ".kept", toPath: link)
        } else {
            let store = try stores.existingStore(for: "alice")
            defer { store.close() }
            try store.resync(by: "a test", because: "the disk is lost")
        }
        #expect(try kept.contents() == ["a", "b"])
        try kept.write("c")
        #expect(try kept.user.withStore(.old) { try $0.all(Draft.self).count } == 3)
    }
}

/// What stands where a user's own small files belong does not keep a kill away.
///
/// With a link to itself or a socket in place of `switch.lock`, or of `control`, a kill ended with 74, recorded nothing, and was forgotten once the
/// flag and the sentinel file were gone: the user stayed on the new engine.
@Suite(.timeLimit(.minutes(5)))
struct KillPastFilesTests {
    enum Odd: String, CaseIterable {
        case loop, folder, socket

        func put(at path: String) throws {
            try? FileManager.default.removeItem(atPath: path)
            switch self {
            case .loop: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
            case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .socket: try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
            }
        }
    }

    /// The lock only saves work; epochs keep movers apart. So a kill passes by a lock file that cannot be opened, as it passes by a frozen holder.
    @Test(arguments: [Stage.dualwrite, .live, .complete], Odd.allCases)
    func aKillDoesWithoutTheLockFile(stage: Stage, odd: Odd) throws {
        let kept = try KeptUser(at: stage)
        let before = try kept.contents()
        let path = try kept.path + "/" + SwitchLock.fileName
        try odd.put(at: path)
        #expect(throws: HabitStoreError.self) { try kept.contents() }
        try kept.user.want(stage.rawValue, kill: true)
        #expect(try kept.user.stores().applyKill("alice").isKilled)
        let status = try kept.user.stores().status(of: "alice")
        #expect(status.stage == .off && status.isKilled)
        #expect(try kept.contents() == before)
        try kept.write("c")
        try FileManager.default.removeItem(atPath: path)
        #expect(try kept.contents() == (before + ["c"]).sorted())
    }

    /// Without the control file no epoch can be claimed, so nothing moves the user; but the kill is recorded next to it, and the next opening that can
    /// carries it out, whatever has become of its triggers.
    @Test(arguments: Odd.allCases)
    func aKillIsRecordedWithoutTheControlFile(odd: Odd) throws {
        let kept = try KeptUser(at: .live)
        let before = try kept.contents()
        let path = try kept.path + "/control"
        try odd.put(at: path)
        try kept.user.want("live", kill: true)
        let error = #expect(throws: HabitStoreError.self) { try kept.user.stores().applyKill("alice") }
        let recorded = error?.underlying as? RecordedKill
        #expect(recorded?.isWaiting == true, "\(String(describing: error))")
        try kept.user.want("live")
        #expect(try kept.user.stores().status(of: "alice").isKilled)
        try FileManager.default.removeItem(atPath: path)
        #expect(try kept.contents() == before)
        let status = try kept.user.stores().status(of: "alice")
        #expect(status.stage == .off && status.isKilled)
        #expect(try !kept.names().contains("killed"))
        try kept.with { _ = try $0.rearm(by: "a test") }
        #expect(try !kept.user.stores().status(of: "alice").isKilled)
    }
}
