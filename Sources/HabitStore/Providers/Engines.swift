import Foundation

/// Opens a store instead of its engine; tests use one that fails or hangs.
@_spi(Engines) public typealias StoreOpener =
    @Sendable (StoreAddress, StoreAccess, Schema) throws -> any UserStoreBackend

/// The engines that something may use, by their names. The first two are the old and the new one where nothing says otherwise.
public struct Engines: Sendable {
    /// The engines, in the order in which they were given.
    @_spi(Engines) public let providers: [any EngineProvider]
    private let byName: [EngineName: any EngineProvider]
    private var opener: StoreOpener?
    /// The name of copies that will replace users' stores.
    private var copyName: String?
    /// Which one of several stores of each user is meant; nil for the one without a name.
    private var storeName: String?

    /// Takes engines together.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for two of one name, two that keep a user's store in one place, or fewer than
    ///   two: a rollout leads from one engine to another.
    public init(_ providers: [any EngineProvider]) throws {
        let byName = Dictionary(providers.map { ($0.name, $0) }) { first, _ in first }
        guard byName.count == providers.count else {
            throw HabitStoreError(.invalidValue, "two engines have the same name; give each its own name")
        }
        guard providers.count >= 2 else {
            throw HabitStoreError(.invalidValue, "a rollout needs two engines, and \(providers.count) was given")
        }
        let places = Dictionary(grouping: providers) { $0.place(ofUser: "user", inFolder: "/users") }
        if let two = places.values.first(where: { $0.count > 1 }) {
            throw HabitStoreError(
                .invalidValue,
                "the engines \(two.map(\.name.rawValue).joined(separator: " and ")) would keep a user's store in the same "
                    + "place; give each its own"
            )
        }
        (self.providers, self.byName) = (providers, byName)
    }

    /// The names, in the order in which the engines were given.
    public var names: [EngineName] { providers.map(\.name) }

    /// What users go from and to where nothing says otherwise.
    ///
    /// - Parameter old: the engine that they come from; nil for the first one.
    /// - Returns: it, and the first other one.
    public func pair(old: EngineName? = nil) -> EnginePair {
        let old = old ?? providers[0].name
        return EnginePair(old: old, new: providers[0].name == old ? providers[1].name : providers[0].name)
    }

    /// An engine.
    ///
    /// - Throws: ``HabitStoreError/Code/engineUnavailable`` for one that was not given.
    @_spi(Engines) public func provider(_ name: EngineName) throws -> any EngineProvider {
        guard let provider = byName[name] else {
            throw HabitStoreError(
                .engineUnavailable,
                "this program has no engine \"\(name)\"; it has \(names.map(\.rawValue).joined(separator: ", "))"
            )
        }
        return provider
    }

    /// Whether there is an engine of a name.
    public func contains(_ name: EngineName) -> Bool { byName[name] != nil }

    /// Where a user's store of an engine is, or would be.
    ///
    /// - Parameter folder: the user's folder.
    public func address(_ engine: EngineName, ofUser user: String, inFolder folder: String) -> StoreAddress {
        // What names an engine that this program has not got is refused where the store is opened.
        guard let provider = byName[engine] else {
            return StoreAddress(engine, path: "\(folder)/store.\(engine.rawValue)")
        }
        var address = StoreAddress(engine, path: provider.place(ofUser: user, inFolder: folder))
        // Stores in files have separate folders.
        if let storeName, provider.isShared {
            address = self.address(ofCopy: "store-\(storeName)", of: address, inFolder: folder)
        }
        return copyName.map { self.address(ofCopy: "\($0).\(engine.rawValue)", of: address, inFolder: folder) }
            ?? address
    }

    /// Where a copy of a store is put for a while.
    ///
    /// - Parameters:
    ///   - name: tells the copies in a folder apart.
    ///   - folder: is theirs, for engines that keep their stores in files.
    @_spi(Engines) public func address(
        ofCopy name: String,
        of address: StoreAddress,
        inFolder folder: String
    ) -> StoreAddress {
        let place = byName[address.engine]?.place(ofCopy: name, inFolder: folder, beside: address.path)
        return StoreAddress(address.engine, path: place ?? "\(folder)/\(name)")
    }

    /// The same engines, for which users' stores are copies, in another folder than the users' own for those that have files.
    ///
    /// - Parameter name: what tells them from other copies.
    @_spi(Engines) public func copied(as name: String) -> Engines {
        var engines = self
        engines.copyName = name
        return engines
    }

    /// The same engines for another of a user's stores, which has its own folder in each root.
    @_spi(Engines) public func naming(_ store: String?) -> Engines {
        var engines = self
        engines.storeName = store
        return engines
    }

    /// Whether other machines reach the stores of an engine; false for one that was not given.
    @_spi(Engines) public func isShared(_ engine: EngineName) -> Bool { byName[engine]?.isShared ?? false }

    /// The store at an address; nil if there is none, or its engine is not among these.
    ///
    /// - Throws: why that is unknown; ``HabitStoreError/Code/inputOutput`` for a link that leads nowhere, whose store may only be out of reach now.
    @_spi(Engines) public func identity(of address: StoreAddress) throws -> StoreIdentity? {
        guard let provider = byName[address.engine] else { return nil }
        if let identity = try provider.identity(at: address.path) { return identity }
        guard provider is any FileEngineProvider, let target = DanglingLink.target(address.path) else { return nil }
        throw HabitStoreError(
            .inputOutput,
            "the \(address.engine.rawValue) store is a link that leads nowhere, to \(target)",
            at: .init(path: address.path)
        )
    }

    /// Whether an open store is still the one at its address, as far as its own operations would not notice.
    @_spi(Engines) public func holds(_ identity: StoreIdentity, at address: StoreAddress) -> Bool {
        byName[address.engine]?.holds(identity, at: address.path) ?? false
    }

    /// The same engines, whose stores something else opens: with a store in between, for example.
    @_spi(Engines) public func opening(by opener: @escaping StoreOpener) -> Engines {
        var engines = self
        engines.opener = opener
        return engines
    }

    /// Opens a store.
    ///
    /// - Throws: a typed error for everything that can be wrong with it.
    public func open(_ address: StoreAddress, _ access: StoreAccess, schema: Schema) throws -> any UserStoreBackend {
        if let opener { return try opener(address, access, schema) }
        return try provider(address.engine).open(address.path, schema: schema, access: access)
    }

    /// A store's outline, whatever its schema. Nothing is written.
    ///
    /// - Throws: a typed error for everything that can be wrong with it.
    public func outline(_ address: StoreAddress) throws -> StoreOutline {
        try provider(address.engine).outline(at: address.path)
    }

    /// Whether nothing speaks against writing to a store now.
    @_spi(Engines) public func mayWrite(_ address: StoreAddress) -> Bool {
        byName[address.engine]?.mayWrite(address.path) ?? false
    }

    /// Renames a closed store.
    ///
    /// - Returns: the store's new place.
    @_spi(Engines) public func setAside(_ address: StoreAddress, as suffix: String) throws -> String {
        try provider(address.engine).setAside(address.path, as: suffix)
    }

    /// Removes a closed store, with all its files, if it exists.
    package func discard(_ address: StoreAddress) throws {
        guard try identity(of: address) != nil else { return }
        try provider(address.engine).remove(address.path)
    }

    /// Reads an address: `NAME:PLACE` for each engine, or the path of a file whose engine is recognised.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an empty place, ``HabitStoreError/Code/notFound`` for a path at
    ///   which there is nothing, and ``HabitStoreError/Code/notAStore`` for a file that is of none of the engines.
    public func address(parsing text: String) throws -> StoreAddress {
        let named = providers.first { text.hasPrefix($0.name.rawValue + ":") }
        let place = named.map { String(text.dropFirst($0.name.rawValue.utf8.count + 1)) } ?? text
        guard !place.isEmpty else {
            let examples = names.map { "\($0):PATH" }.joined(separator: " or ")
            throw HabitStoreError(.invalidValue, "the store's path is empty; name a file, as \(examples)")
        }
        return StoreAddress(try named?.name ?? recognized(place), path: place)
    }

    private func recognized(_ path: String) throws -> EngineName {
        let head = try StoreAddress.head(ofFileAt: path)
        if let provider = providers.first(where: { $0.recognizes(head) }) { return provider.name }
        throw HabitStoreError(
            .notAStore,
            head.isEmpty
                ? "the file is empty"
                : "the file is not a store of a known engine (\(names.map(\.rawValue).joined(separator: ", ")))",
            at: .init(path: path)
        )
    }
}

/// The two engines of a rollout: the one that users come from, and the one that they go to.
public struct EnginePair: Sendable, Hashable {
    /// The engine that users come from.
    public var old: EngineName
    /// The engine that they go to.
    public var new: EngineName

    /// Names two engines.
    public init(old: EngineName, new: EngineName) { (self.old, self.new) = (old, new) }

    /// Both, the old one first.
    public var names: [EngineName] { [old, new] }

    /// The other one of the two.
    public func other(than engine: EngineName) -> EngineName { engine == old ? new : old }

    /// Whether the two are not the same as another rollout's, in whatever direction.
    public func isOther(than pair: EnginePair) -> Bool { !contains(pair.old) || !contains(pair.new) }

    /// Whether an engine is one of the two.
    public func contains(_ engine: EngineName) -> Bool { engine == old || engine == new }
}
