import Foundation
@_spi(Engines) import HabitStore

/// One attempt at a write, along the route that was in force when it began.
struct RoutedWrite {
    let user: OpenUser
    let route: Route
    let author: String?

    private var directory: UserDirectory { user.directory }

    /// Runs `body` in a write transaction of the serving store, and replicates the write as the stage requires.
    ///
    /// - Throws: ``OpenUser/RouteChanged`` if the user was moved before `body` ran.
    func run<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
        try route.writtenFirst.map { try write(body, first: $0) } ?? write(body)
    }

    private func noteTime(since start: ContinuousClock.Instant) {
        route.stopwatch?.stop(since: start)
        user.context.writeTimes.count(route.actual.stage, since: start)
    }

    /// Writes to one store, which a mirror may follow.
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
                written.prepared = try mirror.prepare(transaction, in: replica, epoch: route.actual.epoch)
            },
            // A mirror needs each write to be prepared before its own commit.
            mayShareCommit: route.mirror == nil
        )
        defer {
            // Has no effect if the mirror has followed the write.
            if let prepared = written.prepared { route.mirror?.forget(prepared) }
        }
        do {
            try route.authority.write(author: author, under: terms) { transaction in
                written.hasBegun = true
                CrashPoint.reach("write.began")
                written.result = try body(transaction)
            }
        } catch let error as HabitStoreError {
            try followRouteChange(error, hasBegun: written.hasBegun)
            guard error.code == .outcomeUnknown, let transaction = written.transaction else { throw error }
            try requireWritten(transaction, to: route.authority, error)
        }
        CrashPoint.reach("write.committed")
        try acknowledge(written.transaction)
        if let mirror = route.mirror, let transaction = written.transaction {
            let waitSeconds = user.options.mirror.waitSeconds
            mirror.follow(to: transaction.token, committed: written.prepared, waitSeconds: waitSeconds)
        }
        guard let result = written.result else { throw withoutResult() }
        return result
    }

    /// Writes to the new store, and commits in the old store first.
    ///
    /// Both transactions are open together, and the old store commits first, so that it has everything that can be read from the new store. A write
    /// that the new store then fails to commit is carried over from the old one.
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
            try followRouteChange(error, hasBegun: written.hasBegun)
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

    /// The state of a write whose closure has returned.
    private struct Written<R> {
        var hasBegun = false
        var result: R?
        var transaction: HistoryTransaction?
        /// The last token without history in the serving store.
        var floor = HistoryToken.zero
        /// The write's number at the mirror, which waits for its outcome; nil if it does not.
        var prepared: Int?
    }

    /// After a failed write, checks whether a new route may help: the user was moved before the write began, or the store's file was, which another
    /// thread of the process may have noticed first.
    private func followRouteChange(_ error: HabitStoreError, hasBegun: Bool) throws {
        if user.pair.closeIfWritable(error) { user.forget(route) }
        guard error.code == .notAuthoritative || user.isLeft(by: error) || user.pair.closeIfMoved(error) else { return }
        user.forget(route)
        if !hasBegun { throw OpenUser.RouteChanged() }
    }

    /// The last check before a write is acknowledged. If the epoch was passed meanwhile, for example while this process was frozen in the middle of
    /// the write, the store may have been left; then the write counts only if it was carried over.
    private func acknowledge(_ transaction: HistoryTransaction?) throws {
        guard let transaction else { return }
        let control = route.isOvertaken ? try requireServed(transaction) : route.control
        control.noteAcknowledged(transaction.token)
        control.ring()
    }

    /// How often an overtaken write checks where the user is.
    private static let mostAttempts = 50
    private static let pollPauseSeconds = 0.02

    /// The route once no process is moving the user. A later epoch that is claimed but not given to a store may belong to a kill that has read the
    /// store before the commit.
    private func steadyRoute() throws -> Route {
        for attempt in 0..<Self.mostAttempts {
            if attempt > 0 { Thread.sleep(forTimeInterval: Self.pollPauseSeconds) }
            let present = try user.recheck()
            if !present.isOvertaken { return present }
        }
        throw StageSwitch.overtaken(directory)
    }

    /// - Returns: the control file that is in place by then.
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
                "the user was moved to another store during this write, and it is unknown now whether that store has "
                    + "it: read it again before deciding",
                at: .init(path: directory.path),
                underlying: error
            )
        }
        switch isServed {
        case true: return control
        case false:
            throw HabitStoreError(
                .notAuthoritative,
                "the user was moved to another store during this write, which does not count: write it again",
                at: .init(path: directory.path)
            )
        default:
            throw HabitStoreError(
                .outcomeUnknown,
                "the user was moved to another store during this write, and its history was pruned since: read it "
                    + "again before deciding",
                at: .init(path: directory.path)
            )
        }
    }

    /// Checks before a write begins that both stores are at one token, and that the old one is at this stage too.
    ///
    /// - Returns: the last token without history in the serving store.
    private func requireEqual(_ first: any UserStoreBackend, _ replica: any ReplicaSnapshot) throws -> HistoryToken {
        let there: StorePosition
        do {
            there = try first.replicaRead { try $0.position() }
        } catch let error as HabitStoreError {
            throw unacknowledgeable(error)
        }
        let here = try replica.position()
        guard isStandingBy(there), there.token == here.token else { throw OpenUser.RouteChanged() }
        return here.historyFloor
    }

    private func isStandingBy(_ first: StorePosition) -> Bool {
        first.role == .standby && first.epoch == route.actual.epoch
    }

    /// Commits the write in the old store, from memory if it is small and both stores' histories begin at the same token.
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
                        "the user was moved to another store during this write; nothing was written",
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

    /// Finds out with a new transaction what became of a failed commit.
    ///
    /// - Throws: the failure, if nothing was written; ``HabitStoreError/Code/outcomeUnknown`` if that cannot be found out.
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

    /// Finds out what became of a failed write that the old store may already have: it is carried over to the new store, or was not written.
    private func requireBoth(_ transaction: HistoryTransaction, _ failure: HabitStoreError) throws {
        let stores: [Bool]
        do {
            try user.state.withLock { _ in
                try user.withSwitch { _ = try $0.change.recover(route.actual.state.engines) }
            }
            stores = try [route.authority, route.writtenFirst].compactMap { $0 }.map {
                try $0.replicaRead { try Replication.transaction($0, transaction.token) } == transaction
            }
        } catch {
            throw HabitStoreError(
                .outcomeUnknown,
                "the write may be in the \(route.actual.state.engines.old.rawValue) store, and it is unknown now "
                    + "whether the other one has it; it is carried over when that can be written again: read it again "
                    + "before deciding",
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

    /// The error of a write that certainly did not happen.
    private static func absent(_ failure: HabitStoreError) -> HabitStoreError {
        guard failure.code == .outcomeUnknown else { return failure }
        return HabitStoreError(
            cause(failure),
            "the commit failed, and the store was read again: nothing was written",
            at: failure.location,
            underlying: failure
        )
    }

    /// Why a commit failed whose outcome is known by now.
    private static func cause(_ failure: HabitStoreError) -> HabitStoreError.Code {
        guard failure.code == .outcomeUnknown else { return failure.code }
        guard let cause = failure.underlying as? HabitStoreError, cause.code != .outcomeUnknown else {
            return .inputOutput
        }
        return cause.code
    }

    /// The error of a write before it has begun. If a failed commit of the mirror caused it, only that commit's outcome is unknown.
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

extension OpenUser {
    /// Runs `body` over one moment of the store that answers at the user's stage.
    ///
    /// - Parameter isRecorded: whether to compare and record the read, where reads are.
    func read<R>(isRecorded: Bool = true, _ body: (any ReadTransaction) throws -> R) throws -> R {
        do {
            return try read(on: try currentRoute(), isRecorded, body)
        } catch is ReadRefused {
            return try readAnew(isRecorded, body)
        }
    }

    @inline(__always)
    private func read<R>(on route: Route, _ isRecorded: Bool, _ body: (any ReadTransaction) throws -> R) throws -> R {
        do {
            guard isRecorded, route.shadow != nil || options.queryRecorder != nil else {
                return try route.authority.read(while: route.condition, body)
            }
            return try route.authority.read(while: route.condition) { try recorded($0, route.shadow, body) }
        } catch let error as HabitStoreError
            where error.isDamage && route.writtenFirst != nil && error.location.path == route.authority.path
        {
            // This read has begun and is not repeated; the intact store answers the next one.
            leave(route, error)
            throw error
        } catch let error as HabitStoreError where error.isDamage {
            throw advised(error, route)
        } catch let error as HabitStoreError where isLeft(by: error) {
            forget(route)
            throw error
        }
    }

    /// The error of damage in the store that serves, with the other store, if there is one.
    private func advised(_ error: HabitStoreError, _ route: Route) -> HabitStoreError {
        guard error.location.path == route.authority.path else { return error }
        let pair = StorePair(directory: directory, schema: context.schema, access: .readOnly, engines: context.engines)
        defer { pair.close() }
        let other = route.actual.other
        let status = try? Deadline.run(seconds: options.stepLimitSeconds, path: pair.address(other).path) { _ in
            try pair.status(other)
        }
        return error.naming(status)
    }

    /// Repeats a read that was refused by the store of its route.
    private func readAnew<R>(_ isRecorded: Bool, _ body: (any ReadTransaction) throws -> R) throws -> R {
        for _ in 0..<Self.maximumAttempts {
            let route = try currentRoute()
            do {
                return try read(on: route, isRecorded, body)
            } catch is ReadRefused {
                forget(route)
            }
        }
        throw unsteady()
    }

    /// The route in force. If another machine may have moved the user unnoticed, the answering store confirms it.
    func confirmedRoute() throws -> Route {
        let route = try currentRoute()
        guard route.condition.epoch != nil else { return route }
        try read(isRecorded: false) { _ = try $0.currentToken() }
        return try currentRoute()
    }

    private func recorded<R>(
        _ transaction: any ReadTransaction,
        _ shadow: ShadowReader?,
        _ body: (any ReadTransaction) throws -> R
    ) throws -> R {
        let recording = RecordingTransaction(transaction, shadow, options.queryRecorder)
        defer { recording.finish() }
        return try body(recording)
    }

    /// Runs `body` in a write transaction of the authoritative store, and replicates the write as the stage requires.
    func write<R>(_ author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        for _ in 0..<Self.maximumAttempts {
            var route = try currentRoute()
            if route.refusal != nil || route.actual.obstacle != nil { route = try recheck() }
            if let refusal = route.refusal { throw refusal }
            do {
                return try RoutedWrite(user: self, route: route, author: author).run(body)
            } catch is RouteChanged {
                forget(route)
            } catch let error as HabitStoreError where error.isDamage {
                throw advised(error, route)
            }
        }
        throw unsteady()
    }
}
