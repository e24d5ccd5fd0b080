import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// Opening a completed user opens only the new store, once the old one has been dealt with.
struct CompletedUserTests {
    private let user: StagedUser

    init() throws {
        user = try StagedUser()
        let stores = try user.stores()
        let store = try stores.store(for: "alice")
        try store.save(Habit(id: SampleRecords.id(1), name: "Run"))
        try user.bring(store, to: .complete)
        store.close()
    }

    /// Opens the user, reads, and returns the engines that this opened.
    private func openedEngines() throws -> [EngineName] {
        let opened = OpenedEngines()
        let stores = try user.stores { options in
            options.opener = { address, access, schema in
                opened.note(address.engine)
                return try address.open(access, schema: schema)
            }
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == .complete)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
        return opened.all
    }

    private final class OpenedEngines: Sendable {
        private let engines = Mutex<[EngineName]>([])
        var all: [EngineName] { engines.withLock { $0 } }
        func note(_ engine: EngineName) { engines.withLock { $0.append(engine) } }
    }

    private func status(_ engine: EngineName) throws -> ReplicaStatus? {
        let pair = StorePair(
            directory: try user.directory,
            schema: HabitSchema.current,
            access: .readOnly,
            engines: .standard
        )
        defer { pair.close() }
        return try pair.status(engine)
    }

    private func set(_ side: StoreSide, _ role: StoreRole, epoch: Int) throws {
        let store = try user.address(side).open(.readWrite, schema: HabitSchema.current)
        defer { store.close() }
        try store.replicate { try $0.setRole(role, epoch: epoch) }
    }

    @Test func theOtherStoreIsNotOpened() throws {
        _ = try openedEngines()
        #expect(try openedEngines() == [.lmdb])
    }

    /// A process killed after the new store became authoritative leaves this state.
    @Test func aStoreThatIsStillSealedIsSeenToWhereNobodyHasYet() throws {
        try FileManager.default.removeItem(atPath: user.directory.path + "/control")
        let epoch = try #require(try status(.lmdb)).epoch
        try set(.old, .sealed, epoch: epoch - 1)
        #expect(try Set(openedEngines()) == [.sqlite, .lmdb])
        #expect(try status(.sqlite)?.role == .standby)
        #expect(try openedEngines() == [.lmdb])
    }

    /// The new store's status alone decides only if its epoch is the one that the processes share.
    @Test func anotherEpochThanTheOneThatIsKnownHasBothStoresAsked() throws {
        _ = try openedEngines()
        let epoch = try #require(try status(.lmdb)).epoch
        try set(.new, .authoritative, epoch: epoch + 1)
        #expect(try Set(openedEngines()) == [.sqlite, .lmdb])
    }

    @Test func aSealedNewStoreHasBothStoresAsked() throws {
        _ = try openedEngines()
        let epoch = try #require(try status(.lmdb)).epoch
        try set(.new, .sealed, epoch: epoch)
        #expect(try Set(openedEngines()) == [.sqlite, .lmdb])
        #expect(try status(.lmdb)?.role == .authoritative)
    }
}
