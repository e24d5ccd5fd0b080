import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A snapshot of the root by hard links (`cp -al`) shared every file with it: no kill took a user back from `live` or `complete`, at `off` not even
/// reads were served, and the doctor found nothing. Now an opening replaces the user's files by copies and leaves the snapshot unchanged; the doctor
/// names such files, and `--fix` does the same.
struct LinkedFilesTests {
    private static let shared = ["store.sqlite", "store.lmdb", "control", "evidence.jsonl"]

    private func user(at stage: Stage, from old: EngineName) throws -> StagedUser {
        try StagedUser(at: stage, old: old, reading: Draft.self) { try $0.save(Draft(content: "one")) }
    }

    /// Hard-links every file of the root, as `cp -al` does, and returns the path of the user's folder in the snapshot.
    private func snapshot(_ user: StagedUser) throws -> String {
        let copy = user.folder.path("snapshot")
        for case let name as String in try #require(FileManager.default.enumerator(atPath: user.root)) {
            let (source, target) = (user.root + "/" + name, copy + "/" + name)
            var isFolder: ObjCBool = false
            try #require(FileManager.default.fileExists(atPath: source, isDirectory: &isFolder))
            let folder = isFolder.boolValue ? target : (target as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            if !isFolder.boolValue { try #require(link(source, target) == 0) }
        }
        return copy
    }

    private func bytes(_ folder: String) -> [Data?] {
        Self.shared.map { try? Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0)) }
    }

    private func linked(_ folder: String) -> [String] {
        Self.shared.filter { name in
            var status = stat()
            return lstat(folder + "/" + name, &status) == 0 && status.st_nlink > 1
        }
    }

    @Test(arguments: Stage.allCases, EngineName.standard)
    func aKillTakesTheUserBackAndTheSnapshotStaysAsItWas(stage: Stage, old: EngineName) throws {
        let user = try user(at: stage, from: old)
        let copy = try snapshot(user)
        let there = try UserDirectory(root: copy, user: "alice").path
        let before = bytes(there)
        try user.want(stage.rawValue, kill: true)
        let store = try user.stores().store(for: "alice")
        #expect(try store.stage() == .off)
        #expect(try store.engine() == old)
        #expect(try user.stores().status(of: "alice").isKilled)
        #expect(try store.all(Draft.self).map(\.content) == ["one"])
        try store.save(Draft(content: "two"))
        store.close()
        #expect(bytes(there) == before)
        #expect(linked(try user.directory.path) == [])
        #expect(!store.notes.contains { $0.contains("put back") }, "\(store.notes)")
        // The evidence still counts: the folder was not restored.
        let log = EvidenceLog(try user.directory, keys: nil)
        #expect(
            try !log.read().records.contains { record in
                if case .putBack = record.event { true } else { false }
            }
        )
        try user.want(stage.rawValue)
        let root = try UserStores(root: copy, flags: user.flags, engines: user.engines, schema: HabitSchema.current)
        let kept = try root.store(for: "alice")
        defer { kept.close() }
        #expect(try kept.stage() == stage)
        #expect(try kept.all(Draft.self).map(\.content) == ["one"])
    }

    @Test(arguments: [Stage.off, .live, .complete]) func theDoctorNamesThemAndGivesTheUserOwnFiles(stage: Stage) throws
    {
        let user = try user(at: stage, from: .sqlite)
        _ = try snapshot(user)
        let stores = try user.stores()
        let findings = try stores.examine("alice")
        #expect(findings.map(\.kind) == [.linked])
        #expect(findings.allSatisfy { $0.canBeMended && $0.message.contains("store.sqlite") })
        #expect(!linked(try user.directory.path).isEmpty, "looking has changed something")
        #expect(try stores.mend("alice") == [])
        #expect(linked(try user.directory.path) == [])
    }

    /// While a process has the user open, under either name, its files stay. Other processes read.
    @Test func whileSomebodyHasTheUserOpenTheFilesStay() throws {
        let user = try user(at: .live, from: .sqlite)
        let copy = try snapshot(user)
        let presence = try UserPresence(besideOthersAt: try UserDirectory(root: copy, user: "alice").path + "/control")
        let stores = try user.stores()
        let store = try stores.store(for: "alice")
        #expect(try store.all(Draft.self).map(\.content) == ["one"])
        #expect(throws: HabitStoreError.self) { try store.save(Draft(content: "two")) }
        store.close()
        #expect(try stores.mend("alice").contains { $0.kind == .linked })
        withExtendedLifetime(presence) {}
    }

    /// A process that died halfway has separated only some of the files.
    @Test func whatIsHalfDoneIsFinished() throws {
        let user = try user(at: .live, from: .sqlite)
        _ = try snapshot(user)
        let path = try user.directory.path
        for name in ["evidence.jsonl", "store.lmdb"] {
            try FileManager.default.copyItem(atPath: path + "/" + name, toPath: path + "/own-" + name)
            try #require(rename(path + "/own-" + name, path + "/" + name) == 0)
        }
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "two"))
        #expect(try store.all(Draft.self).count == 2)
        #expect(linked(path) == [])
    }
}
