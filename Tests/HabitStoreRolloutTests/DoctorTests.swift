import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The doctor names what is wrong with a user's folder, and repairs it if that takes no guessing.
struct DoctorTests {
    private func user(at stage: Stage, from old: EngineName = .sqlite) throws -> StagedUser {
        try StagedUser(at: stage, old: old, reading: Draft.self) { try $0.save(Draft(content: "one")) }
    }

    private func change<R>(_ user: StagedUser, _ side: StoreSide, _ body: (any ReplicaTransaction) throws -> R) throws
        -> R
    {
        let store = try user.address(side).open(.readWrite, schema: HabitSchema.current)
        defer { store.close() }
        return try store.replicate(body)
    }

    /// The doctor compared the evidence with the mirror if that was on SQLite: for each user from LMDB at `dualwrite` or `shadow` it reported missing
    /// lines, and proposed to discard all evidence.
    @Test(arguments: Stage.allCases, EngineName.standard)
    func nothingIsFoundWhereNothingIsWrong(stage: Stage, old: EngineName) throws {
        let user = try user(at: stage, from: old)
        #expect(try user.stores().examine("alice") == [])
    }

    /// Opening refused a user whose file `user` named another user, and the doctor, which one then asks, found nothing wrong.
    @Test(arguments: ["another", "empty", "folder", "pipe", "link to a pipe"])
    func aFileThatDoesNotNameTheUserIsFound(what: String) throws {
        let user = try user(at: .off)
        let file = try user.directory.path + "/user"
        try FileManager.default.removeItem(atPath: file)
        switch what {
        case "another": try Data("mallory".utf8).write(to: URL(fileURLWithPath: file))
        case "empty": try Data().write(to: URL(fileURLWithPath: file))
        case "folder": try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        case "pipe": try #require(mkfifo(file, 0o600) == 0)
        default:
            try #require(mkfifo(user.folder.path("pipe"), 0o600) == 0)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: user.folder.path("pipe"))
        }
        let stores = try user.stores()
        let found = try stores.examine("alice")
        #expect(found.map(\.kind) == [.owner])
        #expect(found.allSatisfy { !$0.message.contains("mallory") })
        let isOpened = (try? stores.store(for: "alice").close()) != nil
        #expect(found.first?.canBeMended == isOpened)
        #expect(try stores.mend("alice").map(\.kind) == (isOpened ? [] : [.owner]))
        if isOpened {
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "alice")
        } else {
            #expect(try stores.examine("alice") == found)
        }
    }

    /// With a folder in the place of the file `user`, the error named the user's whole folder and said "remove it".
    @Test func aFolderInThePlaceOfTheLabelIsNamedItself() throws {
        let user = try user(at: .off)
        let file = try user.directory.path + "/user"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        let error = #expect(throws: HabitStoreError.self) { try user.stores().store(for: "alice").close() }
        #expect(error?.location.path == file)
        #expect(error?.message.contains("`mv \(file) \(file).aside`") == true)
        let found = try user.stores().examine("alice")
        #expect(found.map(\.remedy) == ["move it away: `mv \(file) \(file).aside`"])
        try FileManager.default.moveItem(atPath: file, toPath: file + ".aside")
        try user.stores().store(for: "alice").close()
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "alice")
    }

    /// The doctor repairs nothing in a folder that names another user, whatever else is wrong with it.
    @Test func nothingIsTouchedInAFolderThatNamesAnother() throws {
        let user = try user(at: .off)
        let path = try user.directory.path
        try Data("mallory".utf8).write(to: URL(fileURLWithPath: path + "/user"))
        try FileManager.default.createDirectory(atPath: path + "/rehearsal-copies", withIntermediateDirectories: true)
        #expect(try Set(user.stores().mend("alice").map(\.kind)) == [.owner, .leftovers])
        #expect(FileManager.default.fileExists(atPath: path + "/rehearsal-copies"))
    }

    /// The repair closed the user's store for everybody in the process: an app that had the user open could neither read nor write any more.
    @Test(arguments: [false, true])
    func aStoreThatTheAppHasOpenStaysOpen(isOpen: Bool) throws {
        let user = try user(at: .shadow)
        let stores = try user.stores()
        let app = isOpen ? try stores.store(for: "alice") : nil
        defer { app?.close() }
        let copies = try user.directory.path + "/rehearsal-copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
        #expect(try stores.mend("alice") == [])
        #expect(!FileManager.default.fileExists(atPath: copies))
        // A user whom only the repair had open is closed.
        #expect(stores.openUserCount == (isOpen ? 1 : 0))
        try app?.save(Draft(content: "two"))
        #expect(try stores.store(for: "alice").fetchCount(FetchDescriptor<Draft>()) == (isOpen ? 2 : 1))
    }

    @Test func theLowerOfTwoAuthoritativeStoresIsPutOnStandby() throws {
        let user = try user(at: .live)
        try change(user, .old) { try $0.setRole(.authoritative, epoch: 1) }
        let stores = try user.stores()
        #expect(try stores.examine("alice").map(\.kind) == [.twoAuthoritative])
        #expect(try stores.mend("alice") == [])
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == .live)
        try store.save(Draft(content: "two"))
    }

    @Test func anInterruptedMoveIsUndone() throws {
        let user = try user(at: .shadow)
        try change(user, .old) { replica in
            let information = try replica.information()
            var state = try RolloutState(parsing: try #require(try replica.rolloutState()), path: nil)
            state.movingTo = .live
            try replica.setRole(.sealed, epoch: information.epoch)
            try replica.setRolloutState(try state.encoded())
        }
        let stores = try user.stores()
        let found = try stores.examine("alice")
        #expect(found.map(\.kind) == [.noneAuthoritative])
        #expect(found.map(\.canBeMended) == [true])
        #expect(try stores.mend("alice") == [])
    }

    @Test func whatAKilledRehearsalHasLeftIsRemovedByTheNextOpening() throws {
        let user = try user(at: .shadow)
        let folder = try user.directory.path + "/rehearsal-copies"
        try FileManager.default.createDirectory(atPath: folder + "/users", withIntermediateDirectories: true)
        let stores = try user.stores()
        #expect(try stores.examine("alice").map(\.kind) == [.leftovers])
        let store = try stores.store(for: "alice")
        store.close()
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try stores.examine("alice") == [])
    }

    /// A store whose history diverged is never served and never deleted: the doctor sets it aside, and the mirror makes a new one.
    @Test func aStoreThatPartedIsSetAside() throws {
        let user = try user(at: .dualwrite)
        try change(user, .new) { try $0.setRole(.authoritative, epoch: 0) }
        let store = try user.address(.new).open(.readWrite, schema: HabitSchema.current)
        try store.save(Draft(content: "never acknowledged"))
        store.close()
        let stores = try user.stores()
        #expect(try stores.examine("alice").map(\.kind) == [.parted])
        try expectThatOnlyTheDoctorHelps(user, stores)
        #expect(try !stores.mend("alice").contains { $0.kind == .parted })
        let names = try FileManager.default.contentsOfDirectory(atPath: user.directory.path)
        #expect(names.contains { $0.hasPrefix("store.lmdb-parted-") })
        let again = try stores.store(for: "alice")
        defer { again.close() }
        _ = again.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        #expect(try again.verify().verdict == .match)
    }

    /// The gate and `status` said that `advance` fills the mirror or catches it up, which it never did.
    private func expectThatOnlyTheDoctorHelps(_ user: StagedUser, _ stores: UserStores) throws {
        try user.want("shadow")
        #expect(try stores.status(of: "alice").mirror == .parted)
        #expect(try stores.status(of: "alice").next?.reasons.contains(.mirrorParted) == true)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        store.files.context.flags.provider.reload()
        #expect(try store.advance()?.reasons == [.mirrorParted])
    }

    /// A mirror whose file was damaged never followed again, and the doctor said to restore it. Now it is set aside and copied again; the serving
    /// store is never touched.
    @Test(arguments: [Stage.dualwrite, .shadow, .live, .rampdown, .complete])
    func aDamagedStoreThatDoesNotServeIsSetAsideAndCopiedAnew(stage: Stage) throws {
        let user = try user(at: stage)
        let (serving, other) = (stage.authority, stage.authority.other)
        let (kept, path) = (try user.address(serving).path, try user.address(other).path)
        for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        let garbage = Data("no store, for certain".utf8)
        try garbage.write(to: URL(fileURLWithPath: path))
        let file = StoreIdentity(path: kept)
        let stores = try user.stores()
        let found = try stores.examine("alice").filter { $0.kind == .unreadable }
        #expect(found.map(\.canBeMended) == [true])
        #expect(try stores.mend("alice").filter { $0.kind == .unreadable || $0.kind == .mirrorLost } == [])
        #expect(StoreIdentity(path: kept) == file)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: user.directory.path).filter { $0.contains("-damaged-") }
                .min { $0.count < $1.count }
        )
        #expect(try Data(contentsOf: URL(fileURLWithPath: user.directory.path + "/" + name)) == garbage)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == stage)
        try store.save(Draft(content: "continues"))
        guard stage != .complete else { return }
        _ = store.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        #expect(try store.verify().verdict == .match)
    }

    /// The error named the command that helps, and the doctor went on to say that the store, which nothing was wrong with, should be restored.
    @Test(arguments: ["-wal", "-shm", "-lock"])
    func aPipeInPlaceOfAFileNextToAStoreIsMovedAway(suffix: String) throws {
        let user = try user(at: .dualwrite)
        let place = try user.address(.old).path + suffix
        try? FileManager.default.removeItem(atPath: place)
        try #require(mkfifo(place, 0o600) == 0)
        let found = try #require(try user.stores().examine("alice").first { $0.kind == .unreadable })
        #expect(found.message.hasSuffix("not a regular file, so SQLite cannot use the store next to it"))
        #expect(found.remedy.hasPrefix("move it away: `mv ") && found.remedy.hasSuffix(".aside`"))
    }

    /// The doctor found the command by searching the error's text for words that the user's folder may have too, and cut the finding short there.
    @Test func aPathWithTheWordsOfARemedyIsNotTakenForOne() throws {
        let user = try user(at: .dualwrite)
        let root = user.folder.path("a; move it away: `mv b")
        try FileManager.default.moveItem(atPath: user.root, toPath: root)
        let stores = try UserStores(root: root, flags: user.flags, engines: .standard, schema: HabitSchema.current)
        let place = try UserDirectory(root: root, user: "alice").path + "/store.sqlite-shm"
        try? FileManager.default.removeItem(atPath: place)
        try #require(mkfifo(place, 0o600) == 0)
        let found = try #require(try stores.examine("alice").first { $0.kind == .unreadable })
        #expect(found.message == "\(place): not a regular file, so SQLite cannot use the store next to it")
        #expect(found.remedy == "move it away: `mv '\(place)' '\(place).aside'`")
    }

    /// With the serving store gone, the doctor also called the evidence incomplete, and advised a reset that was refused: it is whole.
    @Test func evidenceIsNotBlamedForAMissingStore() throws {
        let user = try user(at: .dualwrite)
        let store = try user.stores().store(for: "alice")
        #expect(try store.verify().verdict == .match)
        store.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: user.address(.old).path + suffix)
        }
        let stores = try user.stores()
        #expect(try stores.verifyEvidence(of: "alice").isWhole)
        let findings = try stores.examine("alice")
        #expect(!findings.isEmpty && findings.allSatisfy { $0.kind != .evidence }, "\(findings)")
    }

    /// The serving store is damaged and the other one is not current: any repair would be a guess.
    @Test func aDamagedStoreThatServesIsLeftWhereItIs() throws {
        let user = try user(at: .complete)
        let path = try user.address(.new).path
        try Data("no store, for certain".utf8).write(to: URL(fileURLWithPath: path))
        let stores = try user.stores()
        #expect(try stores.examine("alice").filter { $0.kind == .unreadable }.map(\.canBeMended) == [false])
        try UserExamination(user.directory, schema: stores.schema, stores.engines, stores.options).setAside()
        #expect(FileManager.default.fileExists(atPath: path))
        let names = try FileManager.default.contentsOfDirectory(atPath: user.directory.path)
        #expect(!names.contains { $0.contains("-damaged-") })
    }

    /// A user at `live` whose old store was restored from a copy older than the new store's history.
    private func userWithAnOldStorePutBack(from stage: Stage) throws -> StagedUser {
        let user = try user(at: stage)
        let old = try user.address(.old).path
        try FileManager.default.copyItem(atPath: old, toPath: user.folder.path("older"))
        try user.with { store in
            try user.bring(store, to: .live) { _ = try $0.all(Draft.self) }
            for number in 0..<3 { try store.save(Draft(content: "later \(number)")) }
            let token = try store.currentToken()
            try store.pruneHistory(through: token)
        }
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: old + suffix) }
        try FileManager.default.copyItem(atPath: user.folder.path("older"), toPath: old)
        return user
    }

    /// At `live` the old store was restored from a copy older than the new store's history: reads continued, every write was refused, and no message
    /// said what helps.
    @Test(arguments: [Stage.shadow, .live])
    func anOldStoreThatCannotFollowIsCopiedAnew(from: Stage) throws {
        let user = try userWithAnOldStorePutBack(from: from)
        let stores = try user.stores()
        #expect(try stores.examine("alice").contains { $0.kind == .mirrorLost })
        #expect(try stores.mend("alice") == [])
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == .live)
        try store.save(Draft(content: "continues"))
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == 5)
        #expect(try store.verify().verdict == .match)
    }

    /// A store restored from `shadow` calls itself authoritative: every way back failed because the user "had been switched meanwhile", with the
    /// advice to try again. A store restored from `live` turned out not to follow only after the new store was sealed, and nothing unsealed it: the
    /// user could not even read. A kill failed in both cases.
    @Test(arguments: [Stage.shadow, .live], [true, false])
    func theWayBackCopiesAnOldStoreThatCannotFollow(from: Stage, isKill: Bool) throws {
        let user = try userWithAnOldStorePutBack(from: from)
        if isKill { try user.want("live", kill: true) }
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        if isKill {
            #expect(try store.applyKill())
        } else {
            try store.demote(to: .off)
        }
        #expect(try store.stage() == .off)
        #expect(try store.engine() == user.old)
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == 4)
        try store.save(Draft(content: "continues"))
    }

    @Test func whoMovesPastAnOldStoreThatCannotFollowIsToldWhatHelps() throws {
        let user = try userWithAnOldStorePutBack(from: .shadow)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        let error = #expect(throws: HabitStoreError.self) { try store.demoteWithoutACopy() }
        #expect(error?.code == .staleStore)
        #expect(
            error?.message.contains("`habitstore rollout doctor --user U --fix`") == true,
            "\(String(describing: error))"
        )
    }

    /// The doctor did not report a user who could not be served at all.
    @Test func aUserWhoseStoresAreGoneIsNamed() throws {
        let user = try user(at: .shadow)
        for name in try FileManager.default.contentsOfDirectory(atPath: user.directory.path)
        where name.hasPrefix("store.") {
            try FileManager.default.removeItem(atPath: user.directory.path + "/" + name)
        }
        #expect(try user.stores().examine("alice").map(\.kind).contains(.noneAuthoritative))
    }

    /// At `live` both stores have the same epoch. The doctor asked the mirror, in which no lines are recorded, and reported for each read that it
    /// does not count.
    @Test(arguments: EngineName.standard) func linesThatTheStoreWhichServesWasToldOfAreNotNamed(old: EngineName) throws
    {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        try store.save(Draft(content: "a"))
        try user.bring(store, to: .live) { _ = try $0.all(Draft.self) }
        for _ in 0..<5 { _ = try store.all(Draft.self) }
        store.drainShadowReads(seconds: 60)
        store.close()
        #expect(try user.stores().uncountedEvidence(of: "alice").sentence == nil)
        #expect(try user.stores().examine("alice").isEmpty)
    }
}

extension UserStore {
    /// The move alone, as in a kill that waits for no copy.
    fileprivate func demoteWithoutACopy() throws {
        try opened().withSwitch { look in
            let actual = try look.change.recover(Engines.standard.pair(old: .sqlite))
            _ = try look.change.move(try #require(actual), to: .off)
        }
    }
}
