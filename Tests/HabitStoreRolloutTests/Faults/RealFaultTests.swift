import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// The same with files that are really damaged, missing or unreadable, and with a disk that is really full.
@Suite(.timeLimit(.minutes(5)))
struct RealFaultTests {
    /// The damage done to a file.
    enum Damage: String, Sendable, CaseIterable {
        case garbage
        case truncated
        case deleted
    }

    private func damage(_ user: FaultyUser, _ side: StoreSide, _ damage: Damage) throws {
        let path = try user.staged.address(side).path
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let name = URL(fileURLWithPath: path).lastPathComponent
        switch damage {
        case .garbage: try Data(repeating: 0x5A, count: 60_000).write(to: URL(fileURLWithPath: path))
        case .truncated where FileManager.default.fileExists(atPath: path):
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: 5_000)
            try file.close()
        case .truncated, .deleted:
            for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasPrefix(name) {
                try FileManager.default.removeItem(atPath: folder + "/" + file)
            }
        }
    }

    @Test(arguments: Stage.allCases, Damage.allCases)
    func withoutTheNewFileTheUserIsServedByTheOldOneWhereverThatIsCurrent(stage: Stage, kind: Damage) throws {
        for old in EngineName.standard {
            let user = try FaultyUser(at: stage, old: old)
            let ledger = Ledger()
            let before = try user.open()
            #expect(ledger.write(before) == .acknowledged)
            before.close()
            try damage(user, .new, kind)
            guard stage != .complete else {
                #expect(throws: HabitStoreError.self) { try user.open() }
                try user.staged.want("off", kill: true)
                #expect(throws: HabitStoreError.self) { try user.open() }
                continue
            }
            let store = try user.open()
            #expect(try store.engine() == old)
            #expect(try store.stage() == (stage.authority == .new ? .off : stage))
            ledger.read(store)
            #expect(ledger.write(store) == .acknowledged)
            #expect(ledger.readErrors.isEmpty)
            store.close()
            try user.contents(.old) { _ = try ledger.expectWhole($0, "the old store") }
        }
    }

    @Test(arguments: [Stage.live, .rampdown], Damage.allCases)
    func withoutTheOldFileTheUserIsServedForReadingAndToldWhy(stage: Stage, kind: Damage) throws {
        for old in EngineName.standard {
            let user = try FaultyUser(at: stage, old: old)
            let ledger = Ledger()
            let before = try user.open()
            #expect(ledger.write(before) == .acknowledged)
            before.close()
            try damage(user, .old, kind)
            let store = try user.open()
            defer { store.close() }
            #expect(try store.stage() == stage)
            ledger.read(store)
            guard case .absent = ledger.write(store) else {
                Issue.record("a write was taken that only one store has")
                continue
            }
            ledger.read(store)
            #expect(ledger.readErrors.isEmpty)
            try user.pullTheKillSwitch(store)
            ledger.read(store)
            #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)")
            #expect(try store.stage() == stage, "there is nothing to go back to")
        }
    }

    /// The kill switch is pulled in a process that has both stores open, after the new file became garbage.
    @Test(arguments: [Stage.live, .rampdown])
    func aFileThatIsDamagedUnderAnOpenStoreKeepsNobodyFromGoingBack(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        #expect(ledger.write(store) == .acknowledged)
        // Another file takes its place, as in a failed restore; a mapped file that shrinks would crash any process.
        let path = try user.staged.address(.new).path
        try Data(repeating: 0x5A, count: 60_000).write(to: URL(fileURLWithPath: path), options: .atomic)
        try user.pullTheKillSwitch(store)
        ledger.read(store)
        #expect(try store.stage() == .off)
        #expect(ledger.write(store) == .acknowledged)
        #expect(ledger.readErrors.isEmpty)
        store.close()
        try user.contents(.old) { _ = try ledger.expectWhole($0, "the old store") }
    }

    @Test(.disabled(if: getuid() == 0, "permissions do not bind root"), arguments: Stage.allCases)
    func withoutPermissionForTheNewFileTheUserIsServedWhereTheOldOneIsAuthoritative(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let path = try user.staged.address(.new).path
        guard FileManager.default.fileExists(atPath: path) else { return }
        chmod(path, 0)
        defer { chmod(path, 0o600) }
        let ledger = Ledger()
        if stage.authority == .old {
            let store = try user.open()
            #expect(ledger.write(store) == .acknowledged)
            ledger.read(store)
            #expect(ledger.readErrors.isEmpty)
            store.close()
        } else {
            let error = #expect(throws: HabitStoreError.self) { try user.open() }
            #expect(error?.code == .permissionDenied)
        }
        chmod(path, 0o600)
        try user.expectRecovery(ledger)
    }

    @Test(
        .enabled(if: SmallDisk.isAllowed, "a separate small disk needs root and the right to mount"),
        arguments: [Stage.dualwrite, .shadow, .live, .rampdown],
        StoreSide.allCases
    )
    func whatIsToldOnAFullDiskIsTrue(stage: Stage, side: StoreSide) throws {
        let user = try FaultyUser(at: stage)
        let disk = try SmallDisk(megabytes: 4)
        // The store's file is on the small disk, and the others are on the large one.
        let address = try user.staged.address(side)
        let onDisk = StoreAddress(address.engine, path: disk.path + "/store")
        try address.open(.readOnly, schema: HabitSchema.current).backup(to: onDisk.path)
        let engine = address.engine
        let store = try user.open { options in
            options.opener = { address, access, schema in
                try (address.engine == engine ? onDisk : address).open(access, schema: schema)
            }
        }
        let ledger = Ledger()
        let blob = String(repeating: "x", count: 100_000)
        for _ in 0..<120 {
            let draft = Draft(content: blob, creationDate: SampleRecords.referenceDate)
            do {
                try store.write(author: "ledger") { try $0.insert(draft) }
                ledger.note(draft.id, .acknowledged)
            } catch let error as HabitStoreError {
                ledger.note(draft.id, error.code == .outcomeUnknown ? .unknown : .absent(error.code))
            }
        }
        ledger.read(store)
        #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        if stage.authority == .old && side == .new {
            #expect(ledger.outcomes.allSatisfy { $0 == .acknowledged })
        } else {
            // LMDB reports a short write as a disk error.
            let codes: [HabitStoreError.Code] = [.full, .inputOutput]
            #expect(codes.contains { ledger.outcomes.contains(.absent($0)) }, "\(Set(ledger.outcomes.map { "\($0)" }))")
        }
        if side == .new {
            try user.pullTheKillSwitch(store)
            #expect(ledger.write(store) == .acknowledged)
            #expect(try store.stage() == .off)
            ledger.read(store)
            #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        }
        let reached = try store.stage()
        store.close()
        for side in [reached.authority, reached.mirror].compactMap({ $0 })
        where !(stage.authority == .old && side == .new) {
            let held = try user.staged.address(side).engine == engine ? onDisk : user.staged.address(side)
            let opened = try held.open(.readWrite, schema: HabitSchema.current)
            try ledger.expectWhole(opened, "the \(side) store")
            opened.close()
        }
    }
}
