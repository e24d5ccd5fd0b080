import Foundation
import Synchronization

/// A store without a file: the reference, and what previews and tests use.
///
/// It looks at every record of an entity, and Foundation itself evaluates the predicate, so what it answers is what
/// Swift means. A write copies what it changes, in time proportional to the entity's size.
public final class InMemoryHabitStore: MaintainableStore, ReplicableStore {
    /// The engine with the semantics over it.
    @_spi(Engines) public let core: EngineStore<InMemoryEngine>

    /// Makes an empty store.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the schema contradicts itself.
    public init(
        schema: Schema,
        identity: UUID = UUID(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        core = try EngineStore(
            InMemoryEngine(schema: schema),
            schema: schema,
            evaluatesPredicates: true,
            identity: identity,
            now: now
        )
    }

    /// A handle on a store that a provider keeps.
    init(_ engine: InMemoryEngine, schema: Schema, isReadOnly: Bool) throws {
        core = try EngineStore(engine, schema: schema, isReadOnly: isReadOnly, evaluatesPredicates: true)
    }
}

@_spi(Engines) extension InMemoryHabitStore: EngineBackedStore {}

/// Everything that a store in memory begins with, where it is filled from somewhere else.
package struct InMemoryContents: Sendable {
    /// The encoded records of each entity of the schema.
    package var records: [[UUID: EncodedRecord]]
    /// The store's own bookkeeping.
    package var metadata: [String: String] = [:]
    /// The history, oldest first.
    package var history: [HistoryTransaction] = []
    /// The kept digests of each entity, ascending.
    package var digests: [[DigestLeaf]]

    /// Makes contents without records.
    package init(schema: Schema) {
        records = schema.entities.map { _ in [:] }
        digests = schema.entities.map { _ in [] }
    }
}

extension EngineName {
    /// Stores in the memory of this process.
    public static let memory: EngineName = "memory"
}

/// Stores in the memory of one process, for previews and tests of rollouts. The provider keeps them by their places, as long as it exists; they open
/// and close like files.
///
/// No other process sees the records, and they are lost with the process.
public final class InMemoryProvider: EngineProvider {
    private struct Shelf {
        var stores: [String: (contents: InMemoryEngine.Contents, number: UInt64)] = [:]
        var made: UInt64 = 0

        mutating func put(_ contents: InMemoryEngine.Contents, at place: String) throws {
            guard stores[place] == nil else {
                throw HabitStoreError(.inputOutput, "there is a store already", at: .init(path: place))
            }
            made += 1
            stores[place] = (contents, made)
        }
    }

    /// `memory`, or what it was called.
    public let name: EngineName
    private let shelf = Mutex(Shelf())

    /// Keeps no store yet.
    public init(name: EngineName = .memory) { self.name = name }

    /// Nothing but memory.
    @_spi(Engines) public var cost: EngineCost { EngineCost(fileDescriptors: 0) }

    /// A place for each user's folder.
    public func place(ofUser user: String, inFolder folder: String) -> String { "\(folder)/store.\(name.rawValue)" }

    /// Its number among the stores that were ever kept.
    @_spi(Engines) public func identity(at place: String) -> StoreIdentity? {
        shelf.withLock { $0.stores[place].map { StoreIdentity($0.number) } }
    }

    /// No file is.
    public func recognizes(_ head: Data) -> Bool { false }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        let contents = try shelf.withLock { shelf in
            if let kept = shelf.stores[place] { return kept.contents }
            guard access == .create else {
                throw HabitStoreError(.notFound, "there is no store", at: .init(path: place))
            }
            let made = InMemoryEngine.Contents(schema: schema)
            try shelf.put(made, at: place)
            return made
        }
        return try InMemoryHabitStore(engine(schema, contents, place), schema: schema, isReadOnly: access == .readOnly)
    }

    private func engine(_ schema: Schema, _ contents: InMemoryEngine.Contents, _ place: String) -> InMemoryEngine {
        InMemoryEngine(schema: schema, contents: contents, path: place) { [weak self] place, contents in
            try self?.shelf.withLock { try $0.put(contents, at: place) }
        }
    }

    /// A store's outline.
    @_spi(Engines) public func outline(at place: String) throws -> StoreOutline {
        guard let contents = shelf.withLock({ $0.stores[place]?.contents }) else {
            throw HabitStoreError(.notFound, "there is no store", at: .init(path: place))
        }
        // The schema is none of its: an outline reads what the store says only.
        return try engine(Schema(shapes: []), contents, place).read { try StoreOutline($0, path: place) }
    }

    /// Nothing speaks against it.
    public func mayWrite(_ place: String) -> Bool { true }

    /// Gives a store another place.
    public func setAside(_ place: String, as suffix: String) throws -> String {
        shelf.withLock { shelf in
            var aside = "\(place)-\(suffix)"
            while shelf.stores[aside] != nil { aside += "-" }
            shelf.stores[aside] = shelf.stores.removeValue(forKey: place)
            return aside
        }
    }

    /// Copies a store.
    public func copy(_ place: String, to target: String) throws {
        try shelf.withLock { shelf in
            guard let kept = shelf.stores[place] else {
                throw HabitStoreError(.notFound, "there is no store", at: .init(path: place))
            }
            try shelf.put(InMemoryEngine.Contents(kept.contents.state.withLock { $0 }), at: target)
        }
    }

    /// Forgets a store.
    public func remove(_ place: String) throws { shelf.withLock { _ = $0.stores.removeValue(forKey: place) } }
}
