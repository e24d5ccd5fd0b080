import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
@_spi(Engines) import RolloutTesting
@_spi(Engines) import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// A demotion or a kill that failed on a full disk left the store sealed that served. Whoever opened the user next wanted to give it
/// its role again first, which the full disk refused as well, and so the user could not even be read until there was room. The
/// store that holds everything is read now, writes are refused with the reason, and the first write that finds room is taken.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskMoveTests {
    private static let full = Fault(.fail(.full), on: .writes, at: .beforeCommit)

    /// What has to hold while there is no room, for a process that has the user open and for one that begins.
    private func expectReading(_ user: FaultyUser, _ store: UserStore, at stage: Stage, _ ledger: Ledger) throws {
        let next = try user.open()
        defer { next.close() }
        for reader in [store, next] {
            ledger.read(reader)
            #expect(try reader.stage() == stage)
            #expect(ledger.write(reader) == .absent(.full))
            ledger.read(reader)
        }
        #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        #expect(next.notes.contains { $0.contains("served for reading only") }, "\(next.notes)")
        if stage.mirror != nil {
            guard case .lagging = next.mirrorStatus else {
                Issue.record("the mirror is \(next.mirrorStatus)")
                return
            }
        }
    }

    @Test(arguments: [Stage.live, .rampdown], EngineName.standard)
    func afterADemotionThatFoundNoRoomTheUserIsReadAndTheFirstWriteWithRoomIsTaken(stage: Stage, old: EngineName) throws
    {
        let user = try FaultyUser(at: stage, old: old)
        let ledger = Ledger()
        let store = try user.open()
        #expect(ledger.write(store) == .acknowledged)
        try user.plan(.old).inject(Self.full)
        let error = #expect(throws: HabitStoreError.self) { try store.demote() }
        #expect(error?.code == .full)
        #expect(try user.contents(.new) { try $0.replicaRead { try $0.information().role } } == .sealed)
        // By then nothing else can be written either.
        try user.plan(.new).inject(Self.full)
        try expectReading(user, store, at: stage, ledger)
        #expect(throws: HabitStoreError.self) { try store.demote() }
        ledger.read(store)
        user.heal()
        #expect(ledger.write(store) == .acknowledged)
        #expect(try store.stage() == stage)
        try store.demote()
        #expect(try store.stage() < stage)
        store.close()
        try user.expectRecovery(ledger)
    }

    @Test(arguments: [Stage.live, .rampdown], EngineName.standard)
    func afterAKillThatFoundNoRoomTheUserIsReadAndTakenBackAsSoonAsThereIs(stage: Stage, old: EngineName) throws {
        let user = try FaultyUser(at: stage, old: old)
        let ledger = Ledger()
        let store = try user.open()
        #expect(ledger.write(store) == .acknowledged)
        try user.plan(.old).inject(Self.full)
        try user.pullTheKillSwitch(store)
        let error = #expect(throws: HabitStoreError.self) { try store.land() }
        #expect(error?.code == .full)
        try expectReading(user, store, at: stage, ledger)
        user.heal()
        #expect(ledger.write(store) == .acknowledged)
        #expect(try store.stage() == .off)
        store.close()
        try user.expectRecovery(ledger)
    }

    /// A process died on the way to `live`, with the old store sealed, and the disk was full when the user was opened next.
    @Test(arguments: EngineName.standard) func aSealedOldStoreIsReadWhileItCannotBeOpenedForWrites(old: EngineName)
        throws
    {
        let user = try FaultyUser(at: .shadow, old: old)
        try user.staged.withStore(.old, .readWrite) { store in
            try store.replicate { replica in
                var state = try RolloutState(parsing: try #require(try replica.rolloutState()), path: nil)
                state.movingTo = .live
                try replica.setRole(.sealed, epoch: try replica.information().epoch)
                try replica.setRolloutState(try state.encoded())
            }
        }
        try user.plan(.old).inject(Self.full)
        let ledger = Ledger()
        let store = try user.open()
        try expectReading(user, store, at: .shadow, ledger)
        // What the evidence cannot prove is no reason to write: nothing was moved.
        #expect(try user.contents(.old) { try $0.replicaRead { try $0.information().role } } == .sealed)
        user.heal()
        #expect(ledger.write(store) == .acknowledged)
        #expect(try store.stage() == .shadow)
        store.close()
        try user.expectRecovery(ledger)
    }

    /// The new store's file is gone, and the old one, which holds everything, has no room to take over.
    @Test(arguments: [Stage.live, .rampdown]) func theOldStoreIsReadWhileItHasNoRoomToTakeOver(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let ledger = Ledger()
        let before = try user.open()
        #expect(ledger.write(before) == .acknowledged)
        before.close()
        let path = try user.staged.address(.new).path
        for name in try FileManager.default.contentsOfDirectory(atPath: user.staged.directory.path)
        where name.hasPrefix(URL(fileURLWithPath: path).lastPathComponent) {
            try FileManager.default.removeItem(atPath: try user.staged.directory.path + "/" + name)
        }
        try user.plan(.old).inject(Self.full)
        let store = try user.open()
        try expectReading(user, store, at: .off, ledger)
        #expect(try user.contents(.old) { try $0.replicaRead { try $0.information().role } } == .standby)
        user.heal()
        #expect(ledger.write(store) == .acknowledged)
        #expect(try store.stage() == .off)
        store.close()
        try user.contents(.old) { _ = try ledger.expectWhole($0, "the old store") }
    }

    /// The same where a disk is full in truth.
    @Test(
        .enabled(if: SmallDisk.isAllowed, "a small disk of its own needs root and the right to mount"),
        arguments: [Stage.live, .rampdown]
    )
    func aDiskThatIsFullInTruthKeepsNobodyFromReading(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let disk = try SmallDisk(megabytes: 4)
        let address = try user.staged.address(.old)
        let onDisk = StoreAddress(address.engine, path: disk.path + "/store")
        try address.open(.readOnly).backup(to: onDisk.path)
        func open() throws -> UserStore {
            try user.open { options in
                options.opener = { asked, access, schema in
                    try (asked.engine == address.engine ? onDisk : asked).open(access, schema: schema)
                }
            }
        }
        let ledger = Ledger()
        let store = try open()
        #expect(ledger.write(store) == .acknowledged)
        let filler = disk.path + "/filler"
        try Data().write(to: URL(fileURLWithPath: filler))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
        while (try? file.write(contentsOf: Data(repeating: 0, count: 4_096))) != nil {}
        // What the log has room for already is used up first.
        for _ in 0..<64 where ledger.write(store) == .acknowledged {}
        let error = #expect(throws: HabitStoreError.self) { try store.demote() }
        #expect(error?.code == .full)
        let next = try open()
        for reader in [store, next] {
            ledger.read(reader)
            #expect(ledger.write(reader) == .absent(.full))
        }
        #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        next.close()
        try file.close()
        try FileManager.default.removeItem(atPath: filler)
        #expect(ledger.write(store) == .acknowledged)
        #expect(try store.stage() == stage)
        store.close()
        for held in [onDisk, try user.staged.address(.new)] {
            let opened = try held.open(.readOnly)
            try ledger.expectWhole(opened, held.path)
            opened.close()
        }
    }
}
