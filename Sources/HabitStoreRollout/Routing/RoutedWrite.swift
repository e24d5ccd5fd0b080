import Foundation
@_spi(Engines) import HabitStore

/// One try of a write, along the route that was in force when it began.
struct RoutedWrite {
    let user: OpenUser
    let route: Route
    let author: String?

    private var directory: UserDirectory { user.directory }

    /// Runs `body` in a write transaction of the store that serves, and carries it over as the stage says.
    ///
    /// - Throws: ``OpenUser/Rerouted`` where the user was moved before `body` ran.
    func run<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
        try route.writtenFirst.map { try write(body, first: $0) } ?? write(body)
    }

    private func noteTime(since start: ContinuousClock.Instant) {
        route.stopwatch?.stop(since: start)
        user.context.writeTimes.count(route.actual.stage, since: start)
    }

    /// A write to one store, which the mirror follows if there is one.
    private func write<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
        var written = Written<R>()
        let start = ContinuousClock.now
        defer { noteTime(since: start) }
        let terms = WriteTerms(
            epoch: route.actual.epoch,
            pruneLimit: user.historyReaders.load(ordering: .acquiring) > 0 ? .zero : route.mirror?.applied,
            willCommit: { replica, transaction in
                CrashPoint.reach(transaction == nil ? "prune.authority" : "write.beforeCommit")
                written.transaction = transaction
                guard let mirror = route.mirror, let transaction else { return }
                written.isPrepared = try mirror.prepare(transaction, in: replica, epoch: route.actual.epoch)
            },
            // A mirror has each write prepared before the one commit that follows.
            mayShareCommit: route.mirror == nil
        )
        defer {
            // Where the write was followed, this comes too late to matter.
            if written.isPrepared, let transaction = written.transaction { route.mirror?.forget(transaction.token) }
        }
        do {
            try route.authority.write(author: author, under: terms) { transaction in
                written.hasBegun = true
                CrashPoint.reach("write.began")
                written.result = try body(transaction)
            }
        } catch let error as HabitStoreError {
            try reroute(error, hasBegun: written.hasBegun)
            guard error.code == .outcomeUnknown, let transaction = written.transaction else { throw error }
            try requireWritten(transaction, to: route.authority, error)
        }
        CrashPoint.reach("write.committed")
        try acknowledge(written.transaction)
        if let mirror = route.mirror, let transaction = written.transaction {
            mirror.follow(to: transaction.token, waitSeconds: user.options.mirror.waitSeconds)
        }
        guard let result = written.result else { throw withoutResult() }
        return result
    }

    /// A write that is committed in the old store before it is in the new one, where it is made.
    ///
    /// Both transactions are open together, and the old store's commit comes first: what anybody reads of the new store,
    /// the old one has. A write that the new store then fails to commit is carried over from the old one.
    private func write<R>(
        _ body: (any WriteTransaction) throws -> R,
        first: any UserStoreBackend
    ) throws -> R {
        if let obstacle = route.actual.obstacle { throw unacknowledgeable(obstacle) }
        var written = Written<R>()
        var isMirrored = false
        let start = ContinuousClock.now
        defer { noteTime(since: start) }
        let terms = WriteTerms(
            epoch: route.actual.epoch,
            willBegin: { replica in written.floor = try requireEqual(first, replica) },
            willCommit: { replica, transaction in
                CrashPoint.reach(transaction == nil ? "prune.authority" : "write.beforeCommit")
                guard let transaction else { return }
                written.transaction = transaction
                try commitFirst(first, replica, transaction, floor: written.floor)
                isMirrored = true
                CrashPoint.reach("live.mirrored")
            }
        )
        do {
            try route.authority.write(author: author, under: terms) { transaction in
                written.hasBegun = true
                CrashPoint.reach("write.began")
                written.result = try body(transaction)
            }
        } catch let error as HabitStoreError {
            try reroute(error, hasBegun: written.hasBegun)
            guard let transaction = written.transaction, isMirrored || error.code == .outcomeUnknown else {
                throw error
            }
            try requireBoth(transaction, error)
        }
        CrashPoint.reach("live.committed")
        try acknowledge(written.transaction)
        guard let result = written.result else { throw withoutResult() }
        return result
    }

    /// What is known of a write once its closure has returned.
    private struct Written<R> {
        var hasBegun = false
        var result: R?
        var transaction: HistoryTransaction?
        /// The last token whose history the store that serves has forgotten.
        var floor = HistoryToken.zero
        /// Whether the mirror awaits to hear what became of it.
        var isPrepared = false
    }

    /// A write failed that another way may be open to: the user was moved before it began, or the store's file was, which
    /// another thread of the process may have seen before.
    private func reroute(_ error: HabitStoreError, hasBegun: Bool) throws {
        if user.pair.closeIfWritable(error) { user.forget(route) }
        guard error.code == .notAuthoritative || user.isLeft(by: error) || user.pair.closeIfMoved(error) else { return }
        user.forget(route)
        if !hasBegun { throw OpenUser.Rerouted() }
    }

    /// The last look before a write is acknowledged: whoever has passed its epoch since may have left the store that it was
    /// committed in, frozen in the middle of the write, say, and then it counts only where it was carried over.
    private func acknowledge(_ transaction: HistoryTransaction?) throws {
        guard let transaction else { return }
        let control = route.isOvertaken ? try requireServed(transaction) : route.control
        control.noteAcknowledged(transaction.token)
        control.ring()
    }

    /// How often a write that was overtaken looks for where the user is.
    private static let mostLooks = 50
    private static let lookPauseSeconds = 0.02

    /// Where the user is, once nobody is moving the user. A later epoch that is claimed and not given may be that of a kill which
    /// has read the store before the commit.
    private func steadyRoute() throws -> Route {
        for look in 0..<Self.mostLooks {
            if look > 0 { Thread.sleep(forTimeInterval: Self.lookPauseSeconds) }
            let present = try user.recheck()
            if !present.isOvertaken { return present }
        }
        throw StageSwitch.overtaken(directory)
    }

    /// - Returns: the control file that stands there by then.
    private func requireServed(_ transaction: HistoryTransaction) throws -> ControlFile {
        let isServed: Bool?
        let control: ControlFile
        do {
            let present = try steadyRoute()
            control = present.control
            isServed = try present.authority.replicaRead { replica in
                let floor = try replica.information().historyFloor
                return transaction.token <= floor
                    ? nil : try Replication.transaction(replica, transaction.token) == transaction
            }
        } catch {
            throw HabitStoreError(
                .outcomeUnknown,
                "the user was taken to another store while this was being written, and that cannot be asked now whether it "
                    + "holds the write: read it again before deciding",
                at: .init(path: directory.path),
                underlying: error
            )
        }
        switch isServed {
        case true: return control
        case false:
            throw HabitStoreError(
                .notAuthoritative,
                "the user was taken to another store while this was being written; nothing of it counts: write it again",
                at: .init(path: directory.path)
            )
        default:
            throw HabitStoreError(
                .outcomeUnknown,
                "the user was taken to another store while this was being written, and its history was pruned since: read "
                    + "it again before deciding",
                at: .init(path: directory.path)
            )
        }
    }

    /// Before a write begins: both stores are at one token, and the old one is at this stage too.
    ///
    /// - Returns: the last token whose history the store that serves has forgotten.
    private func requireEqual(_ first: any UserStoreBackend, _ replica: any ReplicaSnapshot) throws -> HistoryToken {
        let there: StorePosition
        do {
            there = try first.replicaRead { try $0.position() }
        } catch let error as HabitStoreError {
            throw unacknowledgeable(error)
        }
        let here = try replica.position()
        guard isStandingBy(there), there.token == here.token else { throw OpenUser.Rerouted() }
        return here.historyFloor
    }

    private func isStandingBy(_ first: StorePosition) -> Bool {
        first.role == .standby && first.epoch == route.actual.epoch
    }

    /// Commits the write in the old store, from memory where it is a small one and both stores' histories begin at one place.
    private func commitFirst(
        _ first: any UserStoreBackend,
        _ replica: any ReplicaSnapshot,
        _ transaction: HistoryTransaction,
        floor: HistoryToken
    ) throws {
        let schema = user.context.schema
        do {
            try first.replicate { there in
                let position = try there.position()
                guard isStandingBy(position), position.token.rawValue == transaction.token.rawValue - 1 else {
                    throw HabitStoreError(
                        .notAuthoritative,
                        "the user was taken to another store while this was being written; nothing of it has happened",
                        at: .init(path: directory.path)
                    )
                }
                if position.historyFloor >= floor,
                    let records = try WrittenRecords(transaction, in: replica, schema: schema)
                {
                    return try records.apply(to: there)
                }
                let (origin, information) = (try replica.information(), try there.information())
                _ = try Replication.carry(from: replica, origin, to: there, information, schema: schema)
            }
        } catch let error as HabitStoreError where error.code != .notAuthoritative && error.code != .outcomeUnknown {
            throw unacknowledgeable(error)
        }
    }

    // MARK: Commits that failed

    /// A commit failed: a new transaction settles what became of it.
    ///
    /// - Throws: what the commit failed with, where nothing has happened; ``HabitStoreError/Code/outcomeUnknown`` where that
    ///   cannot be found out.
    private func requireWritten(
        _ transaction: HistoryTransaction,
        to store: any UserStoreBackend,
        _ failure: HabitStoreError
    ) throws {
        let kept: HistoryTransaction?
        do {
            kept = try store.replicate { try Replication.transaction($0, transaction.token) }
        } catch {
            throw failure
        }
        if kept != transaction { throw Self.absent(failure) }
    }

    /// A write failed when the old store may have had it already: it is carried over to the new one, or has not happened.
    private func requireBoth(_ transaction: HistoryTransaction, _ failure: HabitStoreError) throws {
        let stores: [Bool]
        do {
            try user.state.withLock { _ in
                try user.withSwitch { _ = try $0.change.settle(route.actual.state.engines) }
            }
            stores = try [route.authority, route.writtenFirst].compactMap { $0 }.map {
                try $0.replicaRead { try Replication.transaction($0, transaction.token) } == transaction
            }
        } catch {
            throw HabitStoreError(
                .outcomeUnknown,
                "the write may be in the \(route.actual.state.engines.old.rawValue) store, and whether the other one has it cannot be "
                    + "told now; it is carried over when that can be written again: read it again before deciding",
                at: .init(path: directory.path),
                underlying: failure
            )
        }
        if stores.allSatisfy({ $0 }) { return }
        if stores.allSatisfy({ !$0 }) { throw Self.absent(failure) }
        throw HabitStoreError(
            .outcomeUnknown,
            "the write is in one of the user's stores only; it is carried over when both can be written again",
            at: .init(path: directory.path),
            underlying: failure
        )
    }

    /// What a write that certainly has not happened fails with.
    private static func absent(_ failure: HabitStoreError) -> HabitStoreError {
        guard failure.code == .outcomeUnknown else { return failure }
        return HabitStoreError(
            cause(failure),
            "the commit failed, and the store was read again: nothing of it has happened",
            at: failure.location,
            underlying: failure
        )
    }

    /// Why a commit failed whose outcome nobody needs to be told of.
    private static func cause(_ failure: HabitStoreError) -> HabitStoreError.Code {
        guard failure.code == .outcomeUnknown else { return failure.code }
        guard let cause = failure.underlying as? HabitStoreError, cause.code != .outcomeUnknown else {
            return .inputOutput
        }
        return cause.code
    }

    /// What a write fails with before it has begun. Where a commit of the mirror's stands in its way that failed, the outcome
    /// of that one is unknown, and not this one's.
    private func unacknowledgeable(_ cause: HabitStoreError) -> HabitStoreError {
        HabitStoreError(
            Self.cause(cause),
            "nothing was written: at this stage both stores must have a write before it is acknowledged, and the other "
                + "one cannot take it (\(cause.message))",
            at: cause.location,
            underlying: cause
        )
    }

    private func withoutResult() -> HabitStoreError {
        HabitStoreError(
            .internalInconsistency,
            "a write transaction ended without its closure having run",
            at: .init(path: directory.path)
        )
    }
}
