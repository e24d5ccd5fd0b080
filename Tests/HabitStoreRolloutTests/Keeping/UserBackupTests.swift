import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A backup is one consistent copy of a user, made while others write.
struct UserBackupTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test(arguments: EngineName.standard, Stage.allCases)
    func aBackupHasWhatAnOpeningWouldServe(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let backup = try kept.backUp()
        let manifest = backup.manifest
        #expect(manifest.user == "alice" && manifest.stage == stage)
        #expect(manifest.token == HistoryToken(rawValue: 2))
        #expect(manifest.serving == (stage.authority == .old ? kept.user.old : kept.user.new))
        #expect(manifest.stores.count == (stage == .off ? 1 : 2))
        #expect(manifest.leftOut == nil)
        #expect(try UserBackup(path: backup.path) == backup)
        #expect(try backup.damages().isEmpty)
        #expect(try mode(backup.path) == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: backup.path)
        #expect(Set(files) == Set(manifest.files.map(\.name) + ["manifest.json", "manifest.sha256"]))
        for file in files { #expect(try mode(backup.path + "/" + file) == 0o600) }
        // A backup never overwrites anything.
        #expect { try kept.backUp() } throws: { ($0 as? HabitStoreError)?.code == .unsupported }
        #expect(try kept.user.stores().backups(of: "alice") == [backup.path])
    }

    /// Every changed, missing or extra byte in a backup is found.
    @Test func everyDamageOfABackupIsFound() throws {
        let kept = try KeptUser(at: .live)
        let backup = try kept.backUp()
        for name in try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted() {
            let url = URL(fileURLWithPath: backup.path + "/" + name)
            let whole = try Data(contentsOf: url)
            for way in 0..<3 {
                var data = whole
                switch way {
                case 0: data[data.count / 2] ^= 0x20
                case 1: data.removeLast()
                default: break
                }
                if way == 2 { try FileManager.default.removeItem(at: url) } else { try data.write(to: url) }
                let isFound = (try? UserBackup(path: backup.path).damages().isEmpty) != true
                #expect(isFound, "\(name), \(way)")
                #expect(throws: HabitStoreError.self, "\(name), \(way)") {
                    try kept.restore(UserBackup(path: backup.path), replacing: true)
                }
                try whole.write(to: url)
            }
        }
        #expect(try kept.contents() == ["a", "b"])
        #expect(try kept.restorations() == 0)
    }

    /// A manifest cannot name a file outside the backup.
    @Test func aManifestThatLeadsElsewhereIsRefused() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        let path = backup.path + "/manifest.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for name in ["../store.sqlite", "store./../../x", "/etc/passwd", "store.\n"] {
            let escaped = name.replacing("\n", with: "\\n")
            let data = Data(text.replacing("store.sqlite", with: escaped).utf8)
            try data.write(to: URL(fileURLWithPath: path))
            try UserBackup.digestLine(data).write(to: URL(fileURLWithPath: backup.path + "/manifest.sha256"))
            #expect { try UserBackup(path: backup.path) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        }
    }

    /// The restore believed a manifest that claimed a later token, and silently lost everything written since.
    @Test(arguments: [
        ("\"token\" : 2,\n  \"user\"", "\"token\" : 9999,\n  \"user\""),
        ("\"epoch\" : 1,\n  \"files\"", "\"epoch\" : 99,\n  \"files\""),
        (#""stage" : "off""#, #""stage" : "complete""#),
    ])
    func aManifestThatSaysAnotherThingThanItsStoresIsRefused(_ said: String, _ changed: String) throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        try kept.write("c")
        let path = backup.path + "/manifest.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let edited = text.replacing(said, with: changed)
        try #require(edited != text, "\(text)")
        try Data(edited.utf8).write(to: URL(fileURLWithPath: path))
        try UserBackup.digestLine(Data(edited.utf8)).write(to: URL(fileURLWithPath: backup.path + "/manifest.sha256"))
        for isReplacing in [false, true] {
            #expect { try kept.restore(UserBackup(path: backup.path), replacing: isReplacing) } throws: {
                let code = ($0 as? HabitStoreError)?.code
                // Without `replacing` it is refused for what would be lost, before a copy of a store is read.
                return code == .corrupt || !isReplacing && code == .staleStore
            }
        }
        #expect(try kept.contents() == ["a", "b", "c"])
    }

    @Test func aBackupOfANewerVersionIsRefusedInOneLine() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        let path = backup.path + "/manifest.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let data = Data(text.replacing("\"version\" : 1", with: "\"version\" : 2").utf8)
        try data.write(to: URL(fileURLWithPath: path))
        #expect { try UserBackup(path: backup.path) } throws: { ($0 as? HabitStoreError)?.code == .newerVersion }
        let other = Data(text.replacing("3.0.0", with: "9.0.0").utf8)
        try other.write(to: URL(fileURLWithPath: path))
        try UserBackup.digestLine(other).write(to: URL(fileURLWithPath: backup.path + "/manifest.sha256"))
        #expect { try kept.restore(UserBackup(path: backup.path), replacing: true) } throws: {
            ($0 as? HabitStoreError)?.code == .newerVersion
        }
        #expect(try kept.contents() == ["a", "b"])
    }

    /// Writers continue, and each backup contains a prefix of the acknowledged writes.
    @Test(arguments: EngineName.standard, [Stage.off, .shadow, .live, .complete])
    func othersWriteWhileABackupIsMade(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let isOver = Atomic<Bool>(false)
        let acknowledged = Mutex(2)
        let failures = Mutex<[String]>([])
        let store = try kept.user.stores().store(for: "alice")
        defer { store.close() }
        DispatchQueue.concurrentPerform(iterations: 2) { worker in
            do {
                if worker == 0 {
                    defer { isOver.store(true, ordering: .releasing) }
                    for number in 0..<4 {
                        let before = acknowledged.withLock { $0 }
                        let backup = try kept.backUp("backup-\(number)")
                        #expect(backup.manifest.token.rawValue >= Int64(before))
                        #expect(backup.manifest.token.rawValue <= Int64(acknowledged.withLock { $0 } + 1))
                    }
                } else {
                    var number = 2
                    while !isOver.load(ordering: .acquiring) {
                        number += 1
                        try store.save(Draft(content: "\(number)"))
                        acknowledged.withLock { $0 = number }
                    }
                }
            } catch {
                failures.withLock { $0.append("\(worker): \(error)") }
                isOver.store(true, ordering: .releasing)
            }
        }
        #expect(failures.withLock { $0 } == [])
        store.close()
        for number in 0..<4 {
            let backup = try UserBackup(path: kept.user.folder.path("backup-\(number)"))
            let outcome = try kept.restore(backup, replacing: true)
            #expect(outcome.token == backup.manifest.token)
            let contents = Set(try kept.contents())
            let all = ["a", "b"] + (3..<10_000).map(String.init)
            #expect(contents == Set(all.prefix(Int(backup.manifest.token.rawValue))))
            #expect(try kept.user.stores().verifyEvidence(of: "alice").isWhole)
        }
    }

    /// A killed backup left a user's records lying around.
    @Test func whatAKilledBackupHasLeftIsRemovedByTheNextAndSaid() throws {
        let kept = try KeptUser(at: .off)
        let draft = kept.user.folder.path("b.partial-1")
        try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: false)
        try Data("secret".utf8).write(to: URL(fileURLWithPath: draft + "/store.sqlite"))
        try BackupList(kept.user.directory).add(.init(path: kept.user.folder.path("b"), draft: draft))
        let outcome = try kept.user.stores().backUp("alice", to: kept.user.folder.path("c"))
        #expect(outcome.removed == [draft])
        #expect(!FileManager.default.fileExists(atPath: draft))
    }

    /// A restore listed the backup as if it were an unfinished draft, and the next backup removed it.
    @Test func aBackupThatWasPutBackIsKeptByTheNextOne() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        try kept.restore(backup)
        let outcome = try kept.user.stores().backUp("alice", to: kept.user.folder.path("next"))
        #expect(outcome.removed.isEmpty)
        #expect(try UserBackup(path: backup.path).damages().isEmpty)
        #expect(try kept.user.stores().backups(of: "alice") == [backup.path, outcome.backup.path])
    }

    @Test func aBackupIsRefusedWhereItCannotBeOne() throws {
        let kept = try KeptUser(at: .live)
        let inside = try kept.path + "/backup"
        for path in [inside, kept.user.folder.path("missing/backup"), kept.user.root + "/users"] {
            #expect(throws: HabitStoreError.self) { try kept.user.stores().backUp("alice", to: path) }
        }
        #expect { try kept.user.stores().backUp("nobody", to: kept.user.folder.path("x")) } throws: {
            ($0 as? HabitStoreError)?.code == .notFound
        }
        // At `live` both stores are needed.
        try FileManager.default.removeItem(atPath: try kept.user.address(.old).path)
        #expect { try kept.backUp() } throws: { "\($0)".contains("needs both") }
        #expect(try kept.user.stores().backups(of: "alice").isEmpty)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: kept.user.folder.path("")).count {
                $0.contains("partial")
            } == 0
        )
    }

    /// A store that is older than what was acknowledged is not the user's, and a backup of it must not pass for one.
    @Test func whatIsNotServedIsNotBackedUp() throws {
        let kept = try KeptUser(at: .complete)
        let file = try kept.user.address(.new).path
        try FileManager.default.copyItem(atPath: file, toPath: kept.user.folder.path("older"))
        try kept.write("c")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.copyItem(atPath: kept.user.folder.path("older"), toPath: file)
        #expect { try kept.backUp() } throws: { ($0 as? HabitStoreError)?.code == .staleStore }
    }
}
