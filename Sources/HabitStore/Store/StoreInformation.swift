import Foundation

/// A store's information about itself.
public struct StoreInformation: Sendable, Hashable, Codable {
    /// This store's identity.
    public var storeID: UUID
    /// The identity that all stores of one user's data share: those that were copied from one another.
    public var lineage: UUID
    /// The token.
    public var token: HistoryToken
    /// The last token whose history was pruned.
    public var historyFloor: HistoryToken
    /// The store's role.
    public var role: StoreRole
    /// How often the role was handed from one store of the user to another.
    public var epoch: Int
}

/// How far a store has come, and what it may be used for.
@_spi(Engines) public struct StorePosition: Sendable, Hashable {
    /// The store's role.
    public var role: StoreRole
    /// How often the role was handed from one store of the user to another.
    public var epoch: Int
    /// The token.
    public var token: HistoryToken
    /// The last token whose history was pruned.
    public var historyFloor: HistoryToken

    /// A position of these parts.
    public init(role: StoreRole, epoch: Int, token: HistoryToken, historyFloor: HistoryToken) {
        (self.role, self.epoch, self.token, self.historyFloor) = (role, epoch, token, historyFloor)
    }
}

/// The purposes that a user's store may serve.
public enum StoreRole: String, Sendable, Hashable, Codable {
    /// It holds the user's data, and takes writes.
    case authoritative
    /// It follows another store; writes are refused.
    case standby
    /// It was authoritative and is about to hand over; writes are refused.
    case sealed
    /// A copy or an import into it is not finished; neither reads nor writes are served from it.
    case backfilling
}

@_spi(Engines) extension StoreInformation {
    /// A placeholder for a file that is not a store; it says nothing about a rollout.
    public init(fileID: UUID) {
        self.init(
            storeID: fileID,
            lineage: fileID,
            token: .zero,
            historyFloor: .zero,
            role: .authoritative,
            epoch: 0
        )
    }

    /// Whether records may be brought into the store past the writes of an app: it has never served anybody, or it was left for
    /// the source, or a later store than it.
    ///
    /// - Parameters:
    ///   - role: the source's role.
    ///   - epoch: the source's epoch; 0 for what no rollout has touched.
    ///   - isEmpty: whether the store has neither records nor a history.
    public func mayBeDestination(of role: StoreRole, epoch from: Int, isEmpty: Bool) -> Bool {
        switch self.role {
        case .authoritative:
            // The epoch 0 is that of stores which no rollout has touched.
            epoch == 0 && (isEmpty || from == 0) || role == .authoritative && epoch < from
        case .sealed: epoch < from
        case .standby, .backfilling: epoch <= from
        }
    }

    /// Checks that an import may write to the store as a separate file. The rollout does not know the import's source, so the store must be one that
    /// a copy may replace: it neither serves a user nor follows a store that does.
    ///
    /// - Parameter path: the store's path.
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` for a store of a rollout.
    public func requireImportable(path: String?) throws {
        guard !mayBeDestination(of: .authoritative, epoch: 0, isEmpty: false) else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "a rollout has this store (\(role.rawValue), epoch \(epoch)), and an import by its path would go past it; import for "
                + "the user instead: without --into, by --root and --user",
            at: .init(path: path)
        )
    }
}

/// A store's description of itself for a program that does not know its schema.
public struct StoreOutline: Sendable, Hashable {
    /// The version of its schema.
    public let version: Schema.Version
    /// Its schema; nil in a store of the first versions, which have written down the version and a hash of each shape only.
    public let schema: StoredSchema?
    /// Its other information about itself.
    public let information: StoreInformation
    /// How often its file was migrated.
    public let migrations: Int
}

/// The access with which a program opens a store.
public enum StoreAccess: Sendable {
    /// Nothing is written, and there must be a store.
    case readOnly
    /// There must be a store.
    case readWrite
    /// A store is made where there is none.
    case create
}

/// A store whose file can be checked, copied and closed.
public protocol MaintainableStore: HabitStore {
    /// The file, or nil for a store without one.
    var path: String? { get }

    /// Checks the store against itself: the file's structure, every record, every index, every relationship, the history. Each record is read as its
    /// model, if the schema has models. No findings means that the store is sound.
    ///
    /// - Parameter progress: gets the number of records checked so far; an error that it throws ends the check.
    func check(progress: (Int) throws -> Void) throws -> [StoreFinding]

    /// Writes a consistent copy to a path at which there is nothing yet.
    func backup(to path: String) throws

    /// Closes the store; later operations throw ``HabitStoreError/Code/closed``.
    func close()
}

/// Something that a check found in a store.
public struct StoreFinding: Sendable, Hashable, Codable {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, Codable {
        /// Odd data that is carried over unchanged: dangling references, duplicates, odd dates.
        case anomaly
        /// A sound record that this program's model cannot read, so that each fetch that finds it throws. Most likely a newer version
        /// of the app wrote it.
        case unreadable
        /// The store contradicts itself or is damaged.
        case damage
    }

    /// How bad it is.
    public let severity: Severity
    /// The kind, a stable word: `danglingReference`, `indexEntryMissing`.
    public let kind: String
    /// The entity concerned.
    public let entity: String?
    /// The record concerned.
    public let id: UUID?
    /// The attribute concerned.
    public let attribute: String?
    /// One sentence, without the user's values.
    public let message: String

    /// Makes a finding.
    public init(
        _ severity: Severity,
        _ kind: String,
        _ message: String,
        entity: String? = nil,
        id: UUID? = nil,
        attribute: String? = nil
    ) {
        self.severity = severity
        self.kind = kind
        self.message = message
        self.entity = entity
        self.id = id
        self.attribute = attribute
    }
}
