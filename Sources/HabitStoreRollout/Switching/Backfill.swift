import Foundation
@_spi(Engines) import HabitStore

/// Brings one store to another's records and history: from the beginning, from where an earlier run stopped, or from the token that it has reached.
///
/// Records are copied unchanged, oddities included; identifiers and history tokens stay. The source may be written meanwhile: changes that the copy
/// has already passed are applied at the end from the source's history. Until then the destination's role is ``StoreRole/backfilling``, and it serves
/// no user. After a kill, the next run continues after the last chunk. A run on equal stores does nothing. A destination that is ahead, or has other
/// data, is refused and left unchanged.
///
/// Each run is fenced: it leaves its identifier in the destination, and checks in each transaction there that the identifier is still its own. A
/// suspended run wakes to an error if another copy or a move took over the destination meanwhile. A store that serves is never a destination.
public struct Backfill {
    /// How far a run is.
    public struct Progress: Sendable {
        /// Records copied so far.
        public var done: Int
        /// The number of records at the beginning of the run.
        public var total: Int
    }

    /// The outcome of a run.
    public struct Outcome: Sendable, Equatable, Codable {
        /// The kinds of runs.
        public enum Kind: String, Sendable, Codable {
            /// The destination was already at the source's token.
            case alreadyCurrent
            /// The destination had the source's data up to an earlier token, and was brought up to date from the history.
            case caughtUp
            /// The records were copied.
            case copied
        }

        /// The kind of run.
        public var kind: Kind
        /// Records written to the destination.
        public var records: Int
        /// History transactions written to the destination.
        public var transactions: Int
        /// The token that both stores have reached.
        public var token: HistoryToken
    }

    /// The state of a copy, kept in the destination with each chunk.
    struct State: Codable, Equatable {
        var lineage: UUID
        /// The run that makes the copy; nil if an earlier version began it.
        var run: UUID?
        /// The source's token when the copy began: the copy may have passed records that changed later.
        var startToken: HistoryToken
        var entity: Int
        var lastID: UUID?
        var records: Int
    }

    /// The default number of records per transaction.
    public static let defaultChunk = 5_000

    private let source: any ReplicableStore
    private let destination: any ReplicableStore
    private let chunk: Int
    private let role: StoreRole
    private let epoch: Int?
    private let pauseSeconds: Double
    /// The identifier of the run in the destination.
    package var id = UUID()

    /// Prepares a copy.
    ///
    /// - Parameters:
    ///   - chunk: the number of records per transaction.
    ///   - pauseSeconds: the pause after each chunk, so that other users of the stores make progress.
    ///   - role: the destination's role after the copy.
    ///   - epoch: the epoch at which the source has to be authoritative, at the beginning and at the end; nil if its role only has to stay the same.
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
    /// - Parameter progress: called after each chunk; if it throws, the run stops, and a later one continues from there.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the destination has other or newer data; ``HabitStoreError/Code/notAuthoritative`` if the
    ///   source does not have, or no longer has, the required role, if the destination serves, or if another copy or a move took it over.
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
            // Starts over if changes since the copy began are no longer in the history. Also if nothing is copied yet: the destination's earlier
            // records may still be there.
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
            // If the source is authoritative, extra transactions in the user's former store were never acknowledged.
            guard epoch != nil else { throw parted() }
            return try copy(try begin(found), from, progress)
        }
        // A store that still serves in an earlier epoch has yet to be put on standby.
        let isLeft = there.role == .authoritative && there.epoch < from.epoch
        if there.token == from.token, !isLeft {
            return Outcome(kind: .alreadyCurrent, records: 0, transactions: 0, token: from.token)
        }
        guard there.token >= from.historyFloor else { return try copy(try begin(found), from, progress) }
        return try catchUp(since: there.token, from)
    }

    /// The progress of the copy into the destination, whichever run makes it.
    ///
    /// - Parameter total: the number of records; nil to count them.
    func progress(of total: Int?) throws -> Progress {
        let state = try destination.replicaRead { try $0.backfillState().map(decode) }
        let done = state?.records ?? 0
        return Progress(done: done, total: max(done, try total ?? count()))
    }

    /// The number of records in the source.
    private func count() throws -> Int {
        try source.replicaRead { replica in
            try source.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
        }
    }

    // MARK: Fencing

    /// Makes sure that a store may be the destination of a copy.
    private func requireDestination(_ there: StoreInformation, _ from: StoreInformation, isEmpty: Bool) throws {
        guard there.mayBeDestination(of: from.role, epoch: from.epoch, isEmpty: isEmpty) else {
            throw HabitStoreError(
                .notAuthoritative,
                "the destination is \(there.role.rawValue) at epoch \(there.epoch), and the source at \(from.epoch): "
                    + "the user was moved there; nothing was written"
            )
        }
    }

    /// Makes sure, inside a transaction of the destination, that this run still owns the copy.
    private func requireOwn(_ replica: any ReplicaSnapshot) throws {
        guard try replica.information().role == .backfilling,
            try replica.backfillState().map(decode)?.run == id
        else {
            throw HabitStoreError(
                .notAuthoritative,
                "another copy or move has taken over the destination meanwhile; nothing more was written to it"
            )
        }
    }

    /// Makes this run the owner of the copy, inside a transaction of the destination, if that is unchanged since it was read.
    private func claim(_ replica: any ReplicaTransaction, _ state: State, _ found: Found) throws {
        let there = try replica.information()
        guard try replica.backfillState().map(decode) == found.state,
            (there.role, there.epoch, there.token) == (found.there.role, found.there.epoch, found.there.token)
        else {
            throw HabitStoreError(
                .busy,
                "another copy or move is using the destination; try again when it has ended"
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
            "the source is no longer the user's current store, or its epoch has changed; nothing that was copied is used"
        )
    }

    private func parted() -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the stores have diverged since a token that both have; set the destination aside and copy again"
        )
    }

    private func haveOneHistory(at token: HistoryToken) throws -> Bool {
        try source.replicaRead { a in try destination.replicaRead { try Replication.agree(a, $0, at: token) } }
    }

    /// Both stores before a run.
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

    /// The state of a destination before its copy begins, which removes everything in it.
    static func nothing(of lineage: UUID) throws -> String {
        try encode(State(lineage: lineage, run: nil, startToken: .zero, entity: 0, lastID: nil, records: 0))
    }

    /// Continues the copy of another run.
    private func takeOver(_ state: State, _ found: Found) throws -> State {
        var own = state
        own.run = id
        try destination.replicate { try claim($0, own, found) }
        return own
    }

    /// Empties the destination, and marks it as unfinished.
    private func begin(_ found: Found) throws -> State {
        let from = found.from
        let state = State(lineage: from.lineage, run: id, startToken: from.token, entity: 0, lastID: nil, records: 0)
        try destination.replicate { replica in
            try claim(replica, state, found)
            // What a rollout says of the earlier contents is not true of the copy: a retirement would take it for a backup.
            if epoch == nil { try replica.setRolloutState(nil) }
        }
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

    /// Applies what changed since the copy began, takes over the history, and opens the destination, all in one transaction.
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
                // A last check: each chunk came from another moment.
                for entity in source.schema.entities.indices
                where try from.count(entity: entity) != replica.count(entity: entity) {
                    throw HabitStoreError(
                        .internalInconsistency,
                        "the copy and the source differ in their number of records; the copy is not used, run it again",
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
                    throw HabitStoreError(.busy, "the destination was written to meanwhile; run the copy again")
                }
                try requireDestination(there, information, isEmpty: false)
                guard try Replication.agree(from, replica, at: token) else { throw parted() }
                if there.role != .standby, information.epoch > 0 {
                    // It was left without being sealed, in favour of the source.
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

/// The right to copy into a user's stores: one copy at a time, over all processes.
///
/// It only saves work: each copy checks in every transaction that it does no harm (see ``Backfill``). So a copy that makes no progress is overtaken,
/// and wakes to an error.
final class CopyLock: Sendable {
    /// nil if the holder was overtaken.
    private let lock: FileLock?

    /// Waits for the right as long as the copy that has it makes progress.
    ///
    /// - Parameters:
    ///   - waitSeconds: how long to wait without progress.
    ///   - progress: describes the progress of the running copy.
    /// - Throws: system errors, and what `progress` throws.
    init(_ directory: UserDirectory, waitSeconds: Double, progress: () throws -> String?) throws {
        var seen = try progress()
        while true {
            do {
                lock = try FileLock(path: Self.path(directory), timeoutSeconds: waitSeconds)
                return
            } catch let error as HabitStoreError where error.code == .busy {
                let now = try progress()
                guard now != seen else { break }
                seen = now
            }
        }
        lock = nil
    }

    /// Takes the right if no copy has it.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if one has.
    init(_ directory: UserDirectory) throws { lock = try FileLock(path: Self.path(directory), timeoutSeconds: 0) }

    static let fileName = "copy.lock"

    private static func path(_ directory: UserDirectory) -> String { directory.path + "/" + fileName }
}
