import Foundation
@_spi(Engines) import HabitStore

/// Brings one store to another's records and history: from the beginning, from where an earlier run stopped, or from
/// the token that it has reached.
///
/// Records are carried as they are, oddities included; identifiers and history tokens stay. The source may be written
/// meanwhile: what changes behind the copy is applied again from the source's history at the end. Until then the
/// destination's role is ``StoreRole/backfilling`` and nobody is served from it. A run that was killed goes on where
/// its last chunk ended. Run again on equal stores it does nothing; a destination that is ahead, or holds other data,
/// is refused and left as it is.
///
/// Each run is fenced: it has an identifier of its own, which it leaves in the destination, and proves in each transaction
/// there that the destination is still its own. One that slept while another copy or a move took the destination over wakes
/// to a refusal. A store that serves is never a destination.
public struct Backfill {
    /// How far a run has come.
    public struct Progress: Sendable {
        /// Records copied so far.
        public var done: Int
        /// How many there are, as of the run's beginning.
        public var total: Int
    }

    /// What a run did.
    public struct Outcome: Sendable, Equatable, Codable {
        /// The kinds of runs.
        public enum Kind: String, Sendable, Codable {
            /// The destination was already at the source's token.
            case alreadyCurrent
            /// The destination had the source's data up to an earlier token, and was caught up from the history.
            case caughtUp
            /// The records were copied.
            case copied
        }

        /// What kind of run it was.
        public var kind: Kind
        /// Records written to the destination.
        public var records: Int
        /// History transactions written to the destination.
        public var transactions: Int
        /// The token that both stores have reached.
        public var token: HistoryToken
    }

    /// Where a copy stands, kept in the destination with each chunk.
    struct State: Codable, Equatable {
        var lineage: UUID
        /// Whose copy it is; nil in a copy that an earlier version has begun.
        var run: UUID?
        /// The source's token when the copy began: what happened later may lie behind the copy.
        var startToken: HistoryToken
        var entity: Int
        var lastID: UUID?
        var records: Int
    }

    /// Records in one transaction of the destination.
    public static let defaultChunk = 5_000

    private let source: any ReplicableStore
    private let destination: any ReplicableStore
    private let chunk: Int
    private let role: StoreRole
    private let epoch: Int?
    private let pauseSeconds: Double
    /// What the copy calls itself in the destination while it goes on.
    package var id = UUID()

    /// Prepares a copy.
    ///
    /// - Parameters:
    ///   - chunk: how many records are written in one transaction.
    ///   - pauseSeconds: how long it rests behind each chunk, so that those who use the stores meanwhile get on.
    ///   - role: what the destination may be used for when the copy is finished.
    ///   - epoch: the epoch at which the source has to be authoritative, at the beginning and at the end; nil where it only has
    ///     to stay what it is.
    public init(
        from source: any ReplicableStore,
        to destination: any ReplicableStore,
        chunk: Int = Backfill.defaultChunk,
        role: StoreRole = .standby,
        epoch: Int? = nil,
        pauseSeconds: Double = 0
    ) {
        self.source = source
        self.destination = destination
        self.chunk = max(1, chunk)
        self.role = role
        self.epoch = epoch
        self.pauseSeconds = pauseSeconds
    }

    /// Copies.
    ///
    /// - Parameter progress: is told after each chunk; a throw stops the run, and a later one goes on from there.
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the destination holds other data or newer ones;
    ///   ``HabitStoreError/Code/notAuthoritative`` when the source is not, or no longer, what it has to be, or the destination
    ///   serves, or was taken over by another copy or a move.
    public func run(progress: (Progress) throws -> Void = { _ in }) throws -> Outcome {
        let found = try inspect()
        let (from, there, isEmpty) = (found.from, found.there, found.isEmpty)
        guard from.role != .backfilling else {
            throw HabitStoreError(
                .unsupported,
                "a copy or an import into the source is not finished; run that again first, which finishes it"
            )
        }
        if let epoch, (from.role, from.epoch) != (.authoritative, epoch) { throw sourceChanged() }
        if let state = found.state {
            guard state.lineage == from.lineage else {
                throw HabitStoreError(
                    .unsupported,
                    "the destination holds an unfinished copy of another store; delete it or choose another destination"
                )
            }
            // Begin again: what changed since the copy began can no longer be read from the history, or nothing is copied
            // yet, and what the destination held before may not be gone.
            let isBegun = state.records > 0 && state.startToken >= from.historyFloor
            return try copy(isBegun ? try takeOver(state, found) : try begin(found), from, progress)
        }
        if isEmpty, there.lineage != from.lineage { return try copy(try begin(found), from, progress) }
        guard there.lineage == from.lineage else {
            throw HabitStoreError(
                .unsupported,
                "the destination holds data of another origin, which a copy would overwrite; choose an empty one"
            )
        }
        guard there.token <= from.token else {
            throw HabitStoreError(
                .unsupported,
                "the destination is at token \(there.token), newer than the source's \(from.token); "
                    + "nothing newer is overwritten"
            )
        }
        guard try haveOneHistory(at: there.token) else {
            // Beside a store that is authoritative, one that was left holds what nobody was ever told of.
            guard epoch != nil else { throw parted() }
            return try copy(try begin(found), from, progress)
        }
        // One that serves beside the source, in an earlier epoch, is still to be put on standby.
        let isLeft = there.role == .authoritative && there.epoch < from.epoch
        if there.token == from.token, !isLeft {
            return Outcome(kind: .alreadyCurrent, records: 0, transactions: 0, token: from.token)
        }
        guard there.token >= from.historyFloor else { return try copy(try begin(found), from, progress) }
        return try catchUp(since: there.token, from)
    }

    /// How far the copy is that goes on in the destination, whoever makes it.
    ///
    /// - Parameter total: how many records there are; nil where that is still to be counted.
    func progress(of total: Int?) throws -> Progress {
        let state = try destination.replicaRead { try $0.backfillState().map(decode) }
        let done = state?.records ?? 0
        return Progress(done: done, total: max(done, try total ?? count()))
    }

    /// How many records the source has.
    private func count() throws -> Int {
        try source.replicaRead { replica in
            try source.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
        }
    }

    // MARK: Fencing

    /// Makes sure that a store may be written to as the destination of a copy.
    private func requireDestination(_ there: StoreInformation, _ from: StoreInformation, isEmpty: Bool) throws {
        guard there.mayBeDestination(of: from.role, epoch: from.epoch, isEmpty: isEmpty) else {
            throw HabitStoreError(
                .notAuthoritative,
                "the destination is \(there.role.rawValue) at epoch \(there.epoch), and the source at \(from.epoch): "
                    + "the user was moved there; nothing was written"
            )
        }
    }

    /// Makes sure, inside of a transaction of the destination, that this is still the copy that goes on there.
    private func requireOwn(_ replica: any ReplicaSnapshot) throws {
        guard try replica.information().role == .backfilling,
            try replica.backfillState().map(decode)?.run == id
        else {
            throw HabitStoreError(
                .notAuthoritative,
                "another copy, or a move, has taken the destination over meanwhile; nothing more was written to it"
            )
        }
    }

    /// Makes this run the only one that may go on, inside of a transaction of the destination, if that is as it was found.
    private func claim(_ replica: any ReplicaTransaction, _ state: State, _ found: Found) throws {
        let there = try replica.information()
        guard try replica.backfillState().map(decode) == found.state,
            (there.role, there.epoch, there.token) == (found.there.role, found.there.epoch, found.there.token)
        else {
            throw HabitStoreError(
                .busy,
                "another copy, or a move, is at work in the destination; try again when it has ended"
            )
        }
        let from = found.from
        try requireDestination(there, from, isEmpty: found.isEmpty)
        try replica.setRole(.backfilling, epoch: from.epoch)
        try replica.setBackfillState(try Self.encode(state))
    }

    private func sourceChanged() -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "the source is no longer the user's current store, or of another epoch; nothing that was copied is used"
        )
    }

    private func parted() -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the stores have gone different ways since a token that both have; set the destination aside, and copy anew"
        )
    }

    private func haveOneHistory(at token: HistoryToken) throws -> Bool {
        try source.replicaRead { a in try destination.replicaRead { try Replication.agree(a, $0, at: token) } }
    }

    /// What both stores are before a run.
    private struct Found {
        let from: StoreInformation
        let there: StoreInformation
        /// The copy that was begun in the destination.
        let state: State?
        let isEmpty: Bool
    }

    private func inspect() throws -> Found {
        let from = try source.replicaRead { try $0.information() }
        return try destination.replicaRead { replica in
            let state = try replica.backfillState().map { try decode($0) }
            let information = try replica.information()
            let records = try destination.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
            return Found(
                from: from,
                there: information,
                state: state,
                isEmpty: records == 0 && information.token == .zero
            )
        }
    }

    // MARK: Copying

    /// What a destination says whose copy has still to be begun: whatever it holds is removed then.
    static func nothing(of lineage: UUID) throws -> String {
        try encode(State(lineage: lineage, run: nil, startToken: .zero, entity: 0, lastID: nil, records: 0))
    }

    /// Goes on where another run has stopped.
    private func takeOver(_ state: State, _ found: Found) throws -> State {
        var own = state
        own.run = id
        try destination.replicate { try claim($0, own, found) }
        return own
    }

    /// Empties the destination, should it hold anything, and marks it as unfinished.
    private func begin(_ found: Found) throws -> State {
        let from = found.from
        let state = State(lineage: from.lineage, run: id, startToken: from.token, entity: 0, lastID: nil, records: 0)
        try destination.replicate { try claim($0, state, found) }
        CrashPoint.reach("backfill.begun")
        for entity in destination.schema.entities.indices {
            var isEmpty = false
            while !isEmpty {
                try destination.replicate { replica in
                    try requireOwn(replica)
                    var ids: [UUID] = []
                    try replica.enumerate(entity: entity, after: nil) { id, _ in
                        ids.append(id)
                        return ids.count < chunk
                    }
                    for id in ids { try replica.remove(entity: entity, id: id) }
                    isEmpty = ids.count < chunk
                }
                CrashPoint.reach("backfill.emptying")
            }
        }
        return state
    }

    private func copy(
        _ start: State,
        _ from: StoreInformation,
        _ progress: (Progress) throws -> Void
    ) throws -> Outcome {
        var state = start
        let total = try count()
        while state.entity < source.schema.entities.count {
            let records = try nextChunk(state)
            if let last = records.last {
                state.lastID = last.id
                state.records += records.count
            }
            if records.count < chunk {
                state.entity += 1
                state.lastID = nil
            }
            try destination.replicate { replica in
                try requireOwn(replica)
                try replica.apply(records)
                try replica.setBackfillState(try Self.encode(state))
            }
            CrashPoint.reach("backfill.chunk")
            try progress(Progress(done: min(state.records, total), total: total))
            if pauseSeconds > 0 { Thread.sleep(forTimeInterval: pauseSeconds) }
        }
        CrashPoint.reach("backfill.copied")
        return try finish(state, from)
    }

    private func nextChunk(_ state: State) throws -> [ReplicaChange] {
        try source.replicaRead { replica in
            var records: [ReplicaChange] = []
            try replica.enumerate(entity: state.entity, after: state.lastID) { id, record in
                records.append(ReplicaChange(entity: state.entity, id: id, record))
                return records.count < chunk
            }
            return records
        }
    }

    /// Applies what changed since the copy began, takes over the history, and opens the destination, all in one
    /// transaction.
    private func finish(_ state: State, _ known: StoreInformation) throws -> Outcome {
        try source.replicaRead { from in
            let information = try from.information()
            guard information.lineage == known.lineage,
                (information.role, information.epoch) == (known.role, known.epoch)
            else { throw sourceChanged() }
            guard state.startToken >= information.historyFloor else {
                throw HabitStoreError(
                    .historyExpired,
                    "the source's history was pruned while it was copied; run the copy again"
                )
            }
            return try destination.replicate { replica in
                try requireOwn(replica)
                let applied = try Replication.apply(
                    from,
                    to: replica,
                    behind: state.startToken,
                    schema: source.schema
                )
                // The last look before the copy counts as one: each chunk came from a moment of its own.
                for entity in source.schema.entities.indices
                where try from.count(entity: entity) != replica.count(entity: entity) {
                    throw HabitStoreError(
                        .internalInconsistency,
                        "the copy has another number of records than the source; it is not used, run it again",
                        at: .init(entity: source.schema.entities[entity].name)
                    )
                }
                try replica.adopt(lineage: information.lineage, floor: information.historyFloor)
                var transactions = 0
                try from.enumerateHistory(after: information.historyFloor) { transaction in
                    try replica.append(transaction)
                    transactions += 1
                    return true
                }
                try replica.setRole(role, epoch: information.epoch)
                try replica.setBackfillState(nil)
                return Outcome(
                    kind: .copied,
                    records: state.records + applied,
                    transactions: transactions,
                    token: information.token
                )
            }
        }
    }

    // MARK: Catching up

    private func catchUp(since token: HistoryToken, _ known: StoreInformation) throws -> Outcome {
        try source.replicaRead { from in
            let information = try from.information()
            guard (information.role, information.epoch) == (known.role, known.epoch) else { throw sourceChanged() }
            return try destination.replicate { replica in
                let there = try replica.information()
                guard there.token == token, try replica.backfillState() == nil else {
                    throw HabitStoreError(.busy, "the destination was written meanwhile; run the copy again")
                }
                try requireDestination(there, information, isEmpty: false)
                guard try Replication.agree(from, replica, at: token) else { throw parted() }
                if there.role != .standby, information.epoch > 0 {
                    // It was left without being sealed, for the source.
                    try replica.setRole(role, epoch: information.epoch)
                }
                let amount = try Replication.carry(
                    from: from,
                    information,
                    to: replica,
                    there,
                    schema: source.schema
                )
                return Outcome(
                    kind: .caughtUp,
                    records: amount.records,
                    transactions: amount.transactions,
                    token: information.token
                )
            }
        }
    }

    // MARK: State

    private static func encode(_ state: State) throws -> String {
        let encoder = JSONEncoder()
        // Sorted, so that copying the same store twice writes the same bytes.
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(state), as: UTF8.self)
    }

    private func decode(_ text: String) throws -> State {
        guard UnfinishedImport(state: text) == nil else {
            throw HabitStoreError(
                .unsupported,
                "an import into the destination is not finished; run that again first, or choose another destination"
            )
        }
        do {
            return try JSONDecoder().decode(State.self, from: Data(text.utf8))
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the state of the unfinished copy in the destination cannot be read; delete the destination",
                underlying: error
            )
        }
    }
}
