import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Whatever of a user is restored, by `user restore` or by hand: nothing older is ever silently served or written to. The article *Backups* has the
/// table.
struct UserRestoreTests {
    private let manager = FileManager.default

    /// Whether the gate is closed, so that no evidence about other records counts.
    private func nothingIsProven(_ kept: KeptUser) throws -> Bool {
        try kept.with { store in
            guard try store.stage().next != nil else { return true }
            return try !store.decision().isOpen
        }
    }

    // MARK: By `user restore`

    @Test(arguments: EngineName.standard, Stage.allCases)
    func anOlderBackupIsRefusedUnlessWhatIsNewerIsGivenUp(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let backup = try kept.backUp()
        try kept.write("c", "d")
        let before = try kept.names()
        let error = #expect(throws: HabitStoreError.self) { try kept.restore(backup) }
        #expect(error?.code == .staleStore)
        #expect(error?.message.contains("the backup is at token 2") == true)
        #expect(error?.message.contains("2 transactions since the backup") == true)
        #expect(try kept.contents() == ["a", "b", "c", "d"])
        #expect(try Set(kept.names()).subtracting(before).allSatisfy { $0.hasSuffix(".lock") })
        let outcome = try kept.restore(backup, replacing: true)
        #expect(!outcome.isNew && !outcome.givenUp.isEmpty && outcome.stage == stage)
        #expect(outcome.aside.count == backup.manifest.stores.count)
        #expect(try kept.contents() == ["a", "b"])
        #expect(try kept.restorations() == 1)
        #expect(try nothingIsProven(kept))
        #expect(try kept.user.stores().examine("alice").isEmpty)
        #expect(try kept.user.stores().verifyEvidence(of: "alice").isWhole)
        // The files set aside still have everything.
        let aside = try #require(outcome.aside.first { $0.contains(backup.manifest.serving.rawValue) })
        let store = try kept.user.engines.open(
            StoreAddress(backup.manifest.serving, path: aside),
            .readOnly,
            schema: HabitSchema.current
        )
        #expect(try store.all(Draft.self).count == 4)
        store.close()
        // The user continues normally: writes, reads, equal stores, and any way back.
        try kept.write("e")
        #expect(try kept.contents() == ["a", "b", "e"])
        try kept.with { store in
            if stage != .off, stage != .complete { #expect(try store.verify().verdict == .match) }
            if try store.stage() > .off { try store.demote(to: .off) }
            #expect(try store.all(Draft.self).count == 3)
        }
    }

    @Test(arguments: EngineName.standard, Stage.allCases)
    func aUserWhoIsGoneIsThereAgain(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let backup = try kept.backUp()
        try manager.removeItem(atPath: kept.path)
        let outcome = try kept.restore(backup)
        #expect(outcome.isNew && outcome.givenUp.isEmpty && outcome.aside.isEmpty)
        #expect(outcome.epoch > backup.manifest.epoch && outcome.stage == stage)
        #expect(try kept.contents() == ["a", "b"])
        try kept.with { #expect(!$0.notes.contains { $0.contains("put back") }) }
        #expect(try kept.restorations() == 1)
        #expect(try kept.user.stores().examine("alice").isEmpty)
        #expect(try nothingIsProven(kept))
        try kept.write("c")
        #expect(try kept.contents() == ["a", "b", "c"])
        // An erasure finds the backup.
        #expect(try kept.user.stores().backups(of: "alice") == [backup.path])
    }

    /// A restore that failed after its decision reported only the reason, as if it had changed nothing, and the next opening finished it.
    @Test func aDecidedRestoreThatFailsSaysThatTheNextOpeningFinishesIt() throws {
        let kept = try KeptUser(at: .shadow)
        let backup = try kept.backUp()
        try kept.write("c")
        let list = try kept.path + "/" + BackupList.fileName
        try manager.moveItem(atPath: list, toPath: list + ".aside")
        try manager.createDirectory(atPath: list + "/in-the-way", withIntermediateDirectories: true)
        let words = "the restore was decided, and the next opening finishes it: "
        #expect { try kept.restore(backup, replacing: true) } throws: { "\($0)".contains(words) }
        #expect { try kept.contents() } throws: { "\($0)".contains(words) }
        try manager.removeItem(atPath: list)
        try manager.moveItem(atPath: list + ".aside", toPath: list)
        #expect(try kept.contents() == ["a", "b"])
        #expect(try kept.restorations() == 1)
    }

    /// An empty folder `restoring` was taken for a decided restore: the user was not served, and the doctor promised to finish the restore and failed.
    /// A decision has a plan, so an empty folder is none; the next opening removes it.
    @Test(arguments: ["opening", "doctor", "restore"])
    func anEmptyFolderIsNoRestoreThatHasBegun(what: String) throws {
        let kept = try KeptUser(at: .shadow)
        let backup = try kept.backUp()
        let folder = try kept.path + "/" + Restoration.folderName
        try manager.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let stores = try kept.user.stores()
        #expect(try stores.status(of: "alice").problems.isEmpty)
        let findings = try stores.examine("alice")
        #expect(findings.map(\.kind) == [.leftovers] && findings.allSatisfy(\.canBeMended), "\(findings)")
        #expect(manager.fileExists(atPath: folder))
        switch what {
        case "opening": break
        case "doctor": #expect(try stores.mend("alice") == [])
        default: try kept.restore(backup)
        }
        #expect(try kept.contents() == ["a", "b"])
        #expect(!manager.fileExists(atPath: folder))
        // A folder with anything in it is not removed, and is a restore that began.
        try manager.createDirectory(atPath: folder + "/copies", withIntermediateDirectories: true)
        #expect { try kept.contents() } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        #expect(manager.fileExists(atPath: folder + "/copies"))
    }

    /// If nothing is lost, no confirmation is needed.
    @Test(arguments: EngineName.standard) func damagedStoresAreReplacedByABackupThatHasEverything(old: EngineName)
        throws
    {
        let kept = try KeptUser(at: .complete, old: old)
        let backup = try kept.backUp()
        try manager.removeItem(atPath: kept.user.address(.new).path)
        #expect { try kept.contents() } throws: { ($0 as? HabitStoreError)?.code == .notAuthoritative }
        let outcome = try kept.restore(backup)
        #expect(outcome.givenUp.isEmpty)
        #expect(try kept.contents() == ["a", "b"])
        // A file that cannot be read may have contained more.
        try Data("no store".utf8).write(to: URL(fileURLWithPath: kept.user.address(.new).path))
        #expect { try kept.restore(backup) } throws: { "\($0)".contains("cannot be read") }
        #expect(try kept.restore(backup, replacing: true).aside.count == 2)
        #expect(try kept.contents() == ["a", "b"])
    }

    /// If the stores are gone, the control file still knows what was acknowledged.
    @Test func whatWasAcknowledgedIsMissedWithoutTheStores() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        try kept.write("c")
        try manager.removeItem(atPath: kept.user.address(.old).path)
        #expect { try kept.restore(backup) } throws: { "\($0)".contains("token 3 was acknowledged") }
        try kept.restore(backup, replacing: true)
        #expect(try kept.contents() == ["a", "b"])
    }

    @Test func aBackupFromBeforeAPromotionTakesTheUserToItsStage() throws {
        let kept = try KeptUser(at: .shadow)
        let backup = try kept.backUp()
        try kept.bring(to: .complete)
        try kept.write("c")
        #expect(throws: HabitStoreError.self) { try kept.restore(backup) }
        let outcome = try kept.restore(backup, replacing: true)
        #expect(outcome.stage == .shadow && outcome.engine == kept.user.old)
        #expect(try kept.contents() == ["a", "b"])
        try kept.user.want("shadow")
        #expect(try kept.with { try $0.stage() } == .shadow)
        // The user can advance again after collecting new evidence.
        try kept.bring(to: .live)
        #expect(try kept.contents() == ["a", "b"])
    }

    @Test func aBackupFromBeforeARetirementHasBothStoresAgain() throws {
        let kept = try KeptUser(at: .complete)
        let backup = try kept.backUp()
        let store = try kept.user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        #expect(try store.retire(by: "a test").isRemoved)
        store.close()
        #expect(!manager.fileExists(atPath: try kept.user.address(.old).path))
        #expect(try kept.restore(backup).givenUp.isEmpty)
        #expect(manager.fileExists(atPath: try kept.user.address(.old).path))
        #expect(try kept.contents() == ["a", "b"])
        try kept.with { store in
            try store.demote()
            #expect(try store.verify().verdict == .match)
        }
    }

    @Test func aBackupThatAnErasureDidNotReachIsPutBackAndSaidSo() throws {
        let kept = try KeptUser(at: .live)
        let backup = try kept.backUp()
        let elsewhere = kept.user.folder.path("elsewhere")
        try manager.moveItem(atPath: backup.path, toPath: elsewhere)
        let erased = try kept.user.stores().erase("alice")
        #expect(erased.unreachable.contains { $0.contains(backup.path) })
        let moved = try UserBackup(path: elsewhere)
        #expect(try kept.restore(moved).isNew)
        #expect(try kept.restorations() == 1)
        #expect(try kept.contents() == ["a", "b"])
    }

    @Test func anotherUsersBackupIsRefused() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        let stores = try kept.user.stores()
        #expect { try stores.restore(backup, of: "bob", by: "a test", because: "") } throws: {
            ($0 as? HabitStoreError)?.code == .invalidValue
        }
        #expect(!manager.fileExists(atPath: try UserDirectory(root: kept.user.root, user: "bob").path))
        // A manifest that names another user does not help: the store names the right one.
        let path = backup.path + "/manifest.json"
        let text = try String(contentsOfFile: path, encoding: .utf8).replacing("\"alice\"", with: "\"bob\"")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try UserBackup.digestLine(Data(text.utf8)).write(to: URL(fileURLWithPath: backup.path + "/manifest.sha256"))
        #expect { try kept.restore(UserBackup(path: backup.path)) } throws: {
            ($0 as? HabitStoreError)?.code == .corrupt
        }
    }

    /// A manifest named the other store as the serving one, and after the restore the user could not be opened.
    @Test func aManifestThatNamesAnotherStoreThanTheStoresDoIsRefused() throws {
        let kept = try KeptUser(at: .complete)
        let backup = try kept.backUp()
        let path = backup.path + "/manifest.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let forged = text.replacing(#""serving" : "lmdb""#, with: #""serving" : "sqlite""#)
        #expect(forged != text)
        try Data(forged.utf8).write(to: URL(fileURLWithPath: path))
        try UserBackup.digestLine(Data(forged.utf8)).write(to: URL(fileURLWithPath: backup.path + "/manifest.sha256"))
        #expect { try kept.restore(UserBackup(path: backup.path)) } throws: {
            ($0 as? HabitStoreError)?.code == .corrupt
        }
        #expect(try kept.contents() == ["a", "b"])
    }

    @Test func aBackupGoesToAnotherRootAndOnlyBesideNothing() throws {
        let (kept, other) = (try KeptUser(at: .live), try StagedUser())
        let backup = try kept.backUp()
        try other.want("live")
        let outcome = try other.stores().restore(backup, by: "a test", because: "moved")
        #expect(outcome.isNew)
        try kept.write("here")
        let store = try other.stores().store(for: "alice")
        try store.save(Draft(content: "there"))
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b", "there"])
        store.close()
        // The two have diverged by now.
        let second = try kept.backUp("second")
        #expect { try other.stores().restore(second, by: "a test", because: "") } throws: {
            "\($0)".contains("other transactions")
        }
        // A user of the same id who was created there has another origin.
        let third = try StagedUser()
        let made = try third.stores().store(for: "alice")
        try made.save(Draft(content: "mine"))
        made.close()
        #expect { try third.stores().restore(backup, by: "a test", because: "") } throws: {
            "\($0)".contains("another origin")
        }
        let replaced = try third.stores().restore(backup, replacing: true, by: "a test", because: "the right one")
        #expect(replaced.aside.count == 1)
        let opened = try third.stores().store(for: "alice")
        defer { opened.close() }
        #expect(try opened.all(Draft.self).map(\.content).sorted() == ["a", "b"])
    }

    @Test(arguments: [Stage.off, .shadow, .live, .complete]) func aKilledUserStaysKilled(stage: Stage) throws {
        let kept = try KeptUser(at: stage)
        let backup = try kept.backUp()
        try kept.user.want(stage.rawValue, kill: true)
        #expect(try kept.with { try $0.applyKill() })
        try kept.user.want(stage.rawValue)
        let outcome = try kept.restore(backup, replacing: true)
        #expect(outcome.stage == .off)
        #expect(try kept.user.stores().status(of: "alice").isKilled)
        #expect(try kept.contents() == ["a", "b"])
        try kept.with { store in
            #expect(try store.decision().reasons.contains(.killed))
            try store.save(Draft(content: "c"))
        }
        #expect(try kept.contents() == ["a", "b", "c"])
    }

    // MARK: With and without control file and evidence

    @Test(arguments: [Stage.off, .shadow, .live, .complete], 0..<4)
    func aRestoreNeedsNeitherControlFileNorEvidence(stage: Stage, parts: Int) throws {
        let (hasControl, hasEvidence) = (parts & 1 != 0, parts & 2 != 0)
        let kept = try KeptUser(at: stage)
        let backup = try kept.backUp()
        try kept.write("c")
        for name in try kept.names() {
            let isGone = (name == "control" && !hasControl) || (name.hasPrefix("evidence") && !hasEvidence)
            if isGone { try manager.removeItem(atPath: kept.path + "/" + name) }
        }
        #expect { try kept.restore(backup) } throws: { ($0 as? HabitStoreError)?.code == .staleStore }
        try kept.restore(backup, replacing: true)
        #expect(try kept.contents() == ["a", "b"])
        #expect(try kept.restorations() == 1)
        #expect(try nothingIsProven(kept))
        try kept.write("d")
        #expect(try kept.contents() == ["a", "b", "d"])
    }

    // MARK: By hand

    /// The store that was left is restored from before its retirement.
    @Test func aRetiredStoreThatIsCopiedBackServesNobody() throws {
        let kept = try KeptUser(at: .off)
        let early = try kept.backUp("early")
        try kept.bring(to: .complete)
        let late = try kept.backUp("late")
        let store = try kept.user.stores { $0.gate.retentionSeconds = 0 }.store(for: "alice")
        #expect(try store.retire(by: "a test").isRemoved)
        store.close()
        try kept.write("c")
        for backup in [early, late] {
            let place = try kept.user.address(.old).path
            try? manager.removeItem(atPath: place)
            try manager.copyItem(atPath: backup.path + "/store.sqlite", toPath: place)
            #expect(try kept.contents() == ["a", "b", "c"])
            #expect(try kept.with { try $0.engine() } == kept.user.new)
        }
        // Without the new store nothing is served at all.
        try manager.removeItem(atPath: kept.user.address(.new).path)
        for backup in [early, late] {
            let place = try kept.user.address(.old).path
            try? manager.removeItem(atPath: place)
            try manager.copyItem(atPath: backup.path + "/store.sqlite", toPath: place)
            let error = #expect(throws: HabitStoreError.self) { try kept.contents() }
            #expect(error.map { [.staleStore, .notAuthoritative].contains($0.code) } == true)
        }
    }

    /// A backup's files are copied over the user's by hand.
    @Test(arguments: [Stage.off, .shadow, .live, .complete])
    func storesThatAreCopiedOutOfABackupByHandAreRefusedOrSaid(stage: Stage) throws {
        let kept = try KeptUser(at: stage)
        let backup = try kept.backUp()
        try kept.write("c")
        let folder = try kept.path
        for store in backup.manifest.stores {
            let place = folder + "/" + store.file
            for ending in ["", "-wal", "-shm", "-lock", "-sound"] { try? manager.removeItem(atPath: place + ending) }
            try manager.copyItem(atPath: backup.path + "/" + store.file, toPath: place)
        }
        let error = #expect(throws: HabitStoreError.self) { try kept.contents() }
        #expect(error?.code == .staleStore)
        // `restore` repairs this.
        try kept.restore(backup, replacing: true)
        #expect(try kept.contents() == ["a", "b"])
    }

    /// After an erasure nothing is known about the user: a folder that is copied back is served, with a note that it was.
    @Test func aFolderThatIsCopiedBackAfterAnErasureSaysSo() throws {
        let kept = try KeptUser(at: .complete)
        let copy = kept.user.folder.path("copy")
        try manager.copyItem(atPath: kept.path, toPath: copy)
        try kept.user.stores().erase("alice")
        try manager.copyItem(atPath: copy, toPath: kept.path)
        try kept.with { store in
            #expect(store.notes.contains { $0.contains("put back from a copy") })
        }
        #expect(try kept.events().contains { if case .putBack = $0 { true } else { false } })
    }

    // MARK: Other processes

    /// A process that has the user open continues with the restored data, and loses no acknowledged write.
    @Test(arguments: EngineName.standard, [Stage.off, .shadow, .live, .complete])
    func anOpenUserGoesOnWithWhatWasPutBack(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let backup = try kept.backUp()
        let stores = try kept.user.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "c"))
        // In the same object: if another one had the user open, an engine that opens a file only once in a process would refuse this one.
        _ = try stores.restore(backup, replacing: true, by: "a test", because: "it was lost")
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b"])
        try store.save(Draft(content: "d"))
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b", "d"])
        #expect(try kept.contents() == ["a", "b", "d"])
    }

    /// A restore looked at the user's stores, copied the backup, and only then stopped others from writing. What an app wrote in between was
    /// acknowledged, and set aside with the old stores. SQLite serves: LMDB opens a file only once in a process.
    @Test(arguments: [(EngineName.sqlite, Stage.off), (.lmdb, .complete)])
    func aWriteThatCommitsWhileTheBackupIsCopiedIsKept(old: EngineName, stage: Stage) throws {
        let kept = try KeptUser(at: stage, old: old)
        let backup = try kept.backUp()
        let store = try kept.user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == 2)
        var isWritten = false
        #expect {
            try kept.user.stores().restore(backup, by: "a test", because: "it was lost") { step, _, _ in
                guard step == "copying", !isWritten else { return }
                isWritten = true
                #expect(throws: Never.self) { try store.save(Draft(content: "c")) }
            }
        } throws: {
            ($0 as? HabitStoreError)?.code == .notAuthoritative
        }
        #expect(isWritten)
        try store.save(Draft(content: "d"))
        #expect(try store.all(Draft.self).map(\.content).sorted() == ["a", "b", "c", "d"])
        #expect(try kept.restorations() == 0)
    }

    // MARK: Interrupted

    @Test func aRestoreThatFailsBeforeItsDecisionChangesNothing() throws {
        let kept = try KeptUser(at: .live)
        let backup = try kept.backUp()
        try kept.write("c")
        // The evidence cannot be written, so the restore fails.
        let log = try kept.path + "/evidence.jsonl"
        try manager.moveItem(atPath: log, toPath: log + "-away")
        #expect(mkfifo(log, 0o600) == 0)
        #expect(throws: HabitStoreError.self) { try kept.restore(backup, replacing: true) }
        #expect(unlink(log) == 0)
        try manager.moveItem(atPath: log + "-away", toPath: log)
        // It checked this before the decision, so nothing changed.
        #expect(try kept.contents() == ["a", "b", "c"])
        #expect(try kept.restorations() == 0)
    }

    @Test func aPlanThatIsDamagedServesNobodyUntilTheBackupIsRestoredAgain() throws {
        let kept = try KeptUser(at: .off)
        let backup = try kept.backUp()
        let folder = try kept.path + "/restoring"
        try manager.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/plan.json"))
        #expect { try kept.contents() } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        #expect { try kept.user.stores().currentAddress(of: "alice") } throws: {
            ($0 as? HabitStoreError)?.code == .staleStore
        }
        #expect(try kept.user.stores().examine("alice").map(\.kind) == [.interrupted])
        #expect { try kept.restore(backup) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        try kept.restore(backup, replacing: true)
        #expect(try kept.contents() == ["a", "b"])
        #expect(try kept.user.stores().examine("alice").isEmpty)
    }

    /// A plan of any other version was said to be a newer program's.
    @Test func aPlanOfAnotherVersionNamesTheProgramThatFinishesIt() throws {
        var plan = RestorationRecord(
            epoch: 3,
            engine: .sqlite,
            token: .zero,
            lineage: UUID(),
            state: RolloutState(stage: .off, engines: Engines.standard.pair(old: .sqlite)),
            stores: [],
            evidence: [],
            by: "ann",
            because: "a test",
            backup: "/backup"
        )
        _ = try RestorationRecord(try plan.encoded(), path: "plan.json")
        for (version, code, whose) in [
            (1, HabitStoreError.Code.newerVersion, "a newer"), (-1, .unsupported, "an older"),
        ] {
            plan.version = RestorationRecord.currentVersion + version
            let data = try plan.encoded()
            let error = #expect(throws: HabitStoreError.self) { try RestorationRecord(data, path: "plan.json") }
            #expect(error?.code == code)
            #expect(error?.message == "\(whose) program began a restore; finish it with that program")
        }
        // A plan of a newer version with other fields was called damaged, and its restore would have been begun again over the decided one.
        let other = Data(#"{"version": \#(RestorationRecord.currentVersion + 1), "steps": []}"#.utf8)
        let newer = #expect(throws: HabitStoreError.self) { try RestorationRecord(other, path: "plan.json") }
        #expect(newer?.code == .newerVersion)
        for damaged in ["{}", "{\"version\": 1}", "no JSON"] {
            let error = #expect(throws: HabitStoreError.self) {
                try RestorationRecord(Data(damaged.utf8), path: "plan.json")
            }
            #expect(error?.code == .corrupt, "\(damaged)")
        }
    }
}
