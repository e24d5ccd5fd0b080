import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// An engine that drops a write now and then but reports success: the rollout kit has to find it.
final class ForgetfulEngine: StorageEngine {
    private struct Forgotten: Error {}

    private let base: InMemoryEngine
    private let writes: WriteCount

    init(_ base: InMemoryEngine, _ writes: WriteCount) { (self.base, self.writes) = (base, writes) }

    var path: String? { base.path }

    func read<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R { try base.read(body) }

    func write<R>(_ body: (InMemoryTransaction) throws -> R) throws -> R {
        guard writes.next().isMultiple(of: 3) else { return try base.write(body) }
        var result: R?
        do {
            return try base.write { transaction in
                result = try body(transaction)
                throw Forgotten()
            }
        } catch let error as Forgotten {
            guard let result else { throw error }
            return result
        }
    }

    func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress) }

    func backup(to path: String) throws { try base.backup(to: path) }

    func close() { base.close() }
}

/// Counts the writes of all handles.
final class WriteCount: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// The forgetful engine's store.
final class ForgetfulStore: EngineBackedStore {
    let core: EngineStore<ForgetfulEngine>

    init(_ base: InMemoryHabitStore, _ writes: WriteCount, isReadOnly: Bool) throws {
        let engine = ForgetfulEngine(base.core.engine, writes)
        core = try EngineStore(engine, schema: base.schema, isReadOnly: isReadOnly)
    }
}

/// The in-memory store, except for the writes that it drops.
struct ForgetfulProvider: EngineProvider {
    private let base = InMemoryProvider(name: "forgetful")
    private let writes = WriteCount()

    var name: EngineName { base.name }
    var cost: EngineCost { base.cost }

    func place(ofUser user: String, inFolder folder: String) -> String { base.place(ofUser: user, inFolder: folder) }
    func identity(at place: String) -> StoreIdentity? { base.identity(at: place) }
    func recognizes(_ head: Data) -> Bool { false }

    func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        let store = try base.open(place, schema: schema, access: access)
        guard let store = store as? InMemoryHabitStore else { return store }
        return try ForgetfulStore(store, writes, isReadOnly: access == .readOnly)
    }

    func outline(at place: String) throws -> StoreOutline { try base.outline(at: place) }
    func mayWrite(_ place: String) -> Bool { true }
    func setAside(_ place: String, as suffix: String) throws -> String { try base.setAside(place, as: suffix) }
    func copy(_ place: String, to target: String) throws { try base.copy(place, to: target) }
    func remove(_ place: String) throws { try base.remove(place) }
}
