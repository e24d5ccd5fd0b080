import Foundation

/// What every store over an engine is made of: the semantics, written once.
public final class EngineStore<Engine: StorageEngine>: Sendable {
    /// The engine.
    public let engine: Engine
    /// The entities.
    public let schema: Schema
    /// Where async forms run.
    public let dispatcher: StoreDispatcher
    let evaluatesPredicates: Bool
    private let now: @Sendable () -> Date

    /// Puts the semantics over an opened engine: checks the schema and, in a new store, writes its bookkeeping.
    ///
    /// - Parameters:
    ///   - engine: the opened engine.
    ///   - schema: what the store must hold, or will.
    ///   - isReadOnly: nothing is written, not even in a new store.
    ///   - evaluatesPredicates: whether Foundation evaluates every predicate, instead of the lowered filter.
    ///   - identity: the store's identity if it is new; nil for a random one.
    ///   - now: the clock that stamps history transactions.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the store holds another schema.
    public init(
        _ engine: Engine,
        schema: Schema,
        isReadOnly: Bool = false,
        evaluatesPredicates: Bool = false,
        identity: UUID? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        try schema.validate()
        self.engine = engine
        self.schema = schema
        self.evaluatesPredicates = evaluatesPredicates
        self.now = now
        dispatcher = StoreDispatcher(label: engine.path ?? "memory")
        // One moment for all that is asked, which is what most openings cost.
        let (isNew, lacksDigests) = try engine.read { snapshot in
            if try snapshot.metadata(MetadataKey.storeID) == nil, !isReadOnly { return (true, false) }
            try StoreBookkeeping.requireSchema(snapshot, schema, path: engine.path)
            return (false, try !isReadOnly && Self.lacksDigests(snapshot))
        }
        if isNew {
            try engine.write { writer in
                guard try writer.metadata(MetadataKey.storeID) == nil else { return }
                try StoreBookkeeping.initialize(writer, schema: schema, identity: identity ?? UUID())
                try DigestLedger(writer, schema).begin()
            }
            try engine.read { try StoreBookkeeping.requireSchema($0, schema, path: engine.path) }
        }
        if lacksDigests { try keepDigests() }
    }

    private static func lacksDigests(_ snapshot: some EngineSnapshot) throws -> Bool {
        try snapshot.digestLeaf(entity: 0, covering: IdentifierRange.all.first) == nil
    }

    /// Begins to keep digests in a store of a version that did not.
    private func keepDigests() throws {
        do {
            try engine.write { writer in
                // Another process may have done it meanwhile.
                guard try Self.lacksDigests(writer) else { return }
                try DigestLedger(writer, schema).begin()
            }
        } catch let error as HabitStoreError where error.code == .corrupt {
            // Without digests the store is as usable as it was; its check names what cannot be read.
            return
        }
    }

    /// Runs `body` over one moment of the store.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try engine.read { snapshot in
            guard try StoreBookkeeping.role(snapshot) != .backfilling else {
                throw HabitStoreError(
                    .notAuthoritative,
                    "a copy into this store is not finished; finish it with `habitstore copy` before reading",
                    at: .init(path: engine.path)
                )
            }
            let transaction = EngineReadTransaction(snapshot, self)
            return try transaction.run { try body($0) }
        }
    }

    /// Runs `body` over one moment of the store at which a condition holds.
    ///
    /// - Throws: also ``ReadRefused``, before `body` runs.
    public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try engine.read { snapshot in
            // Asking for the role chooses the moment: a move behind it no longer concerns this read.
            guard try StoreBookkeeping.role(snapshot) != .backfilling, condition.holds else { throw ReadRefused() }
            let transaction = EngineReadTransaction(snapshot, self)
            return try transaction.run { try body($0) }
        }
    }

    /// Runs `body` in a write transaction; see the protocol's `write(author:_:)`.
    public func write<R>(
        author: String?,
        under terms: WriteTerms = WriteTerms(),
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        func work(_ writer: Engine.Writer) throws -> R {
            try requireAuthority(writer, epoch: terms.epoch)
            let replica = EngineReplicaSnapshot(writer, schema)
            try terms.willBegin?(replica)
            let transaction = EngineWriteTransaction(writer, in: self)
            transaction.pruneLimit = terms.pruneLimit
            let result = try transaction.run { _ in try body(transaction) }
            let appended = try transaction.finish(author: author, timestamp: now())
            try terms.willCommit?(replica, appended)
            return result
        }
        return try terms.mayShareCommit ? engine.writeTogether(work) : engine.write(work)
    }

    /// The role is checked inside the engine's own write transaction, so that a switch by another process is seen.
    private func requireAuthority(_ writer: Engine.Writer, epoch expected: Int?) throws {
        let role = try StoreBookkeeping.role(writer)
        guard role == .authoritative else {
            throw HabitStoreError(
                .notAuthoritative,
                "this store is \(role.rawValue) and takes no writes; open the user's store again to reach the one that does",
                at: .init(path: engine.path)
            )
        }
        if let expected {
            let epoch = try StoreBookkeeping.epoch(writer)
            guard epoch == expected else {
                throw HabitStoreError(
                    .notAuthoritative,
                    "the user's store was switched meanwhile (epoch \(epoch), expected \(expected)); open it again",
                    at: .init(path: engine.path)
                )
            }
        }
    }
}

extension EngineSnapshot {
    /// Refuses another schema than the store was written with; a store that is still empty fits every schema.
    ///
    /// For engines, before they make or build anything in a file on a schema's behalf.
    public func requireSchema(_ schema: Schema, path: String?) throws {
        guard try metadata(MetadataKey.storeID) != nil else { return }
        try StoreBookkeeping.requireSchema(self, schema, path: path)
    }
}

/// Reading and writing a store's bookkeeping.
enum StoreBookkeeping {
    static func initialize(_ writer: some EngineWriter, schema: Schema, identity: UUID) throws {
        try writer.setMetadata(MetadataKey.storeID, identity.uuidString)
        try writer.setMetadata(MetadataKey.lineage, identity.uuidString)
        try writer.setMetadata(MetadataKey.textForm, "nfc")
        try writer.setMetadata(
            MetadataKey.schemaVersion,
            schema.version.map(String.init).joined(separator: ".")
        )
        for (position, entity) in schema.entities.enumerated() {
            try writer.setMetadata(MetadataKey.shapePrefix + entity.name, schema.shapeHash(ofEntity: position))
        }
    }

    static func requireSchema(_ snapshot: some EngineSnapshot, _ schema: Schema, path: String?) throws {
        guard try snapshot.metadata(MetadataKey.storeID) != nil else {
            throw HabitStoreError(.notAStore, "the file holds no store yet", at: .init(path: path))
        }
        for (position, entity) in schema.entities.enumerated() {
            let stored = try snapshot.metadata(MetadataKey.shapePrefix + entity.name)
            guard let stored else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store has no entity \(entity.name)",
                    at: .init(path: path, entity: entity.name)
                )
            }
            guard stored == schema.shapeHash(ofEntity: position) else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store's entity \(entity.name) has another shape than the one declared",
                    at: .init(path: path, entity: entity.name)
                )
            }
        }
    }

    static func role(_ snapshot: some EngineSnapshot) throws -> StoreRole {
        guard let text = try snapshot.metadata(MetadataKey.role) else { return .authoritative }
        guard let role = StoreRole(rawValue: text) else {
            throw HabitStoreError(.newerVersion, "the store has a role that this version does not know")
        }
        return role
    }

    static func epoch(_ snapshot: some EngineSnapshot) throws -> Int {
        try number(snapshot, MetadataKey.epoch)
    }

    static func historyFloor(_ snapshot: some EngineSnapshot) throws -> HistoryToken {
        HistoryToken(rawValue: Int64(try number(snapshot, MetadataKey.historyFloor)))
    }

    /// The history after a token, refused when some of it was pruned.
    static func history(
        _ snapshot: some EngineSnapshot,
        after token: HistoryToken,
        _ body: (HistoryTransaction) throws -> Bool
    ) throws {
        let floor = try historyFloor(snapshot)
        guard token >= floor else {
            throw HabitStoreError(
                .historyExpired,
                "the history up to token \(floor) was pruned; start from a full read and token \(floor) or later"
            )
        }
        try snapshot.history(after: token.rawValue, body)
    }

    /// The last token: of the history, or of the bookkeeping when the history was pruned that far.
    static func lastToken(_ snapshot: some EngineSnapshot) throws -> HistoryToken {
        HistoryToken(rawValue: max(try snapshot.lastToken(), Int64(try number(snapshot, MetadataKey.lastToken))))
    }

    /// Forgets the history up to and including a token, but never the token itself.
    static func pruneHistory(_ writer: some EngineWriter, through token: HistoryToken) throws {
        let last = try lastToken(writer)
        let floor = min(token, last)
        guard floor > (try historyFloor(writer)) else { return }
        try writer.pruneHistory(through: floor.rawValue)
        try writer.setMetadata(MetadataKey.historyFloor, String(floor.rawValue))
        try writer.setMetadata(MetadataKey.lastToken, String(last.rawValue))
    }

    static func information(_ snapshot: some EngineSnapshot) throws -> StoreInformation {
        StoreInformation(
            storeID: try identifier(snapshot, MetadataKey.storeID),
            lineage: try identifier(snapshot, MetadataKey.lineage),
            token: try lastToken(snapshot),
            historyFloor: try historyFloor(snapshot),
            role: try role(snapshot),
            epoch: try epoch(snapshot)
        )
    }

    private static func number(_ snapshot: some EngineSnapshot, _ key: String) throws -> Int {
        guard let text = try snapshot.metadata(key) else { return 0 }
        guard let number = Int(text), number >= 0 else {
            throw HabitStoreError(.corrupt, "the store's bookkeeping holds no number under \(key)")
        }
        return number
    }

    private static func identifier(_ snapshot: some EngineSnapshot, _ key: String) throws -> UUID {
        guard let text = try snapshot.metadata(key), let id = UUID(uuidString: text) else {
            throw HabitStoreError(.corrupt, "the store's bookkeeping holds no identifier under \(key)")
        }
        return id
    }
}
