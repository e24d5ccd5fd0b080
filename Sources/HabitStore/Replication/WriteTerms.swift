/// The conditions of a write transaction in a store that is kept equal to another one.
@_spi(Engines) public struct WriteTerms {
    /// The epoch that the store must have, so that a process that slept through a switch cannot write to a store that came
    /// back; nil for any.
    public var epoch: Int?
    /// The last token whose history may be forgotten, since the other store lacks the transactions after it; nil for all.
    public var pruneLimit: HistoryToken?
    /// Runs inside of the transaction, before its body. A throw refuses the write before anything of it has happened.
    public var willBegin: ((any ReplicaSnapshot) throws -> Void)?
    /// Runs inside the transaction, after its body and right before the commit, with the body's history transaction; nil if the body changes nothing. An
    /// error undoes the write.
    public var willCommit: ((any ReplicaSnapshot, HistoryTransaction?) throws -> Void)?

    /// Whether other writes may share the write's commit. ``willCommit`` then runs at the end of this write's part of the
    /// transaction, before the parts of others.
    public var mayShareCommit: Bool

    /// Terms that ask for nothing, unless said otherwise. A write on whose way something is to happen shares no commit,
    /// unless it is said that it may.
    public init(
        epoch: Int? = nil,
        pruneLimit: HistoryToken? = nil,
        willBegin: ((any ReplicaSnapshot) throws -> Void)? = nil,
        willCommit: ((any ReplicaSnapshot, HistoryTransaction?) throws -> Void)? = nil,
        mayShareCommit: Bool? = nil
    ) {
        self.mayShareCommit = mayShareCommit ?? (willBegin == nil && willCommit == nil)
        self.epoch = epoch
        self.pruneLimit = pruneLimit
        self.willBegin = willBegin
        self.willCommit = willCommit
    }
}
