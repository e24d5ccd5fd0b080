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
