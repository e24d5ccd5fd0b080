import HabitStore

/// Decides which store is authoritative, from the stores' status and what else is known. Opening, moving, inspecting and copying a user all follow
/// this rule. Opens no store and changes nothing.
struct AuthorityResolution {
    enum Answer {
        /// None: no store was ever given a role.
        case nobody
        /// This store serves.
        case serves(ReplicaStatus)
        /// This store serves on every machine: it was accepted on another one while this machine continued with its own, which follows if it has
        /// nothing more.
        case acceptedElsewhere(ReplicaStatus, left: ReplicaStatus)
        /// A move got no further than sealing: this store gets its role back.
        case reopens(ReplicaStatus)
        /// A move was decided in the former store and can only be finished: the other store takes the role.
        case finishes(left: ReplicaStatus, target: ReplicaStatus)
        /// The old store has everything that was acknowledged, and takes over from a new one that is gone, unreadable, or outdated; the error is what
        /// is wrong with an outdated one.
        case takesOver(ReplicaStatus, HabitStoreError?)
        /// No store is known to be current.
        case refused(HabitStoreError)
    }

    let answer: Answer
    /// The old store, if both stores are written and it has more than the serving one: the next opening carries that over.
    let ahead: ReplicaStatus?

    /// - Parameters:
    ///   - engines: the two engines of the user's rollout.
    ///   - isKilled: whether to take the user back: then a new store that does not answer is left.
    init(_ found: ReplicaStatuses, _ engines: EnginePair, _ check: StatusCheck, isKilled: Bool) {
        ahead = Self.ahead(found)
        do throws(HabitStoreError) {
            answer = try Self.judge(found, engines, check, isKilled)
        } catch {
            answer = .refused(error)
        }
    }

    private static func ahead(_ found: ReplicaStatuses) -> ReplicaStatus? {
        guard let leading = found.statuses.leading, leading.role == .authoritative,
            leading.state?.stage.awaitsMirror == true
        else { return nil }
        return found.statuses.first {
            $0.engine != leading.engine && $0.lineage == leading.lineage && $0.hasAllAcknowledged
                && $0.token > leading.token
        }
    }

    /// The store with the user's current data, for callers that only read; nil if the user has none.
    ///
    /// - Throws: why no store is known to be current. A store on standby never replaces it, unless it is known to have everything.
    var current: ReplicaStatus? {
        get throws(HabitStoreError) {
            switch answer {
            case .nobody: nil
            case .serves(let status): ahead ?? status
            case .acceptedElsewhere(let status, let left):
                throw StatusCheck.objection(toLeaving: left, for: status)
            case .reopens(let status), .takesOver(let status, _), .finishes(_, let status): status
            case .refused(let error): throw error
            }
        }
    }

    private static func judge(
        _ found: ReplicaStatuses,
        _ engines: EnginePair,
        _ check: StatusCheck,
        _ isKilled: Bool
    ) throws(HabitStoreError) -> Answer {
        let own = found.statuses.filter { check.objection(toOwnerOf: $0) == nil }
        if let elsewhere = own.leading.flatMap(check.objection(toMachineOf:)) { throw elsewhere }
        let leading = own.filter { $0.hasRole && !$0.isRescued }.leading
        let authoritative = leading.flatMap { $0.role == .authoritative ? $0 : nil }
        var objection: HabitStoreError?
        if let authoritative, found.failures.isEmpty || isCurrent(authoritative, engines, check) {
            objection = check.objection(to: authoritative, beside: found)
            if objection == nil { return try serves(authoritative, found, engines, check) }
        } else if let decided = try decided(own, found, check) {
            return decided
        } else if let sealed = own.lazy.filter({ $0.role == .sealed }).leading {
            // The other one may have been sealed in an earlier epoch, with a write that was never acknowledged.
            if let objection = check.objection(to: sealed, beside: found) { throw objection }
            // The unreadable store may have been given the role, unless the sealed one has to be written first for anything to be acknowledged.
            if let failure = found.failure, !sealed.hasAllAcknowledged { throw failure }
            return .reopens(sealed)
        }
        // The highest epoch wins: the other store was restored from a copy, is gone, or is unreadable.
        if let claiming = own.first(where: \.hasAllAcknowledged),
            authoritative.map({ $0.epoch < claiming.epoch }) ?? true
        {
            if let objection = check.objection(to: claiming, beside: found) { throw objection }
            // The file may be intact, or readable in a moment, so a process that can read it has to decide.
            if !isKilled, let failure = found.failure, !lastingFailures.contains(failure.code) { throw failure }
            return .takesOver(claiming, objection)
        }
        if let objection { throw objection }
        if let rescued = own.first(where: { $0.isRescued && $0.role == .authoritative }) {
            // No other store is current. It is only read, to bring the other one up to date.
            if let objection = check.objection(to: rescued, beside: found) { throw objection }
            return .serves(rescued)
        }
        return try judgeWithoutRole(found, check)
    }

    private static func serves(
        _ serving: ReplicaStatus,
        _ found: ReplicaStatuses,
        _ engines: EnginePair,
        _ check: StatusCheck
    ) throws(HabitStoreError) -> Answer {
        // No process here has claimed its epoch, and the store in this machine's files was not left.
        guard serving.isShared, serving.epoch > check.floor,
            let left = found.status(engines.other(than: serving.engine)), !left.isShared, left.role == .authoritative,
            left.hasServed || left.token > .zero
        else { return .serves(serving) }
        guard left.lineage == serving.lineage else { throw check.objection(toOriginOf: serving, beside: left) }
        return .acceptedElsewhere(serving, left: left)
    }

    /// The answer for a move that was decided in the former store: that store says so, on standby in the new epoch, and has nothing that the other
    /// one lacks.
    private static func decided(
        _ own: [ReplicaStatus],
        _ found: ReplicaStatuses,
        _ check: StatusCheck
    ) throws(HabitStoreError) -> Answer? {
        let left = own.filter { $0.role == .standby && $0.state?.movingTo != nil }.max { $0.epoch < $1.epoch }
        guard let left, let state = left.state, state.movingTo == state.stage else { return nil }
        let engine = state.engine(state.stage.authority)
        if let failure = found.failures[engine] {
            // A former store that has everything takes over from a damaged store, and waits for an unreachable one.
            if left.hasAllAcknowledged { return nil }
            throw failure
        }
        guard engine != left.engine, own.allSatisfy({ $0.epoch <= left.epoch }) else { return nil }
        if let objection = check.objection(to: left, beside: found) { throw objection }
        guard let target = own.first(where: { $0.engine == engine }), target.lineage == left.lineage,
            target.token == left.token, target.epoch < left.epoch,
            target.role == .standby || target.role == .sealed
        else { return nil }
        return .finishes(left: left, target: target)
    }

    /// The answer if no store has a role that counts.
    private static func judgeWithoutRole(
        _ found: ReplicaStatuses,
        _ check: StatusCheck
    ) throws(HabitStoreError) -> Answer {
        if let failure = found.failure {
            // No store was ever given a role: a process was killed while it created the user's first one.
            let isUnmade = found.failures.values.allSatisfy { $0.code == .notAStore }
            if found.statuses.isEmpty, check.floor == 0, isUnmade { return .nobody }
            throw failure.naming(found.statuses.first)
        }
        if let foreign = found.statuses.lazy.compactMap(check.objection(toOwnerOf:)).first { throw foreign }
        guard let standby = found.statuses.first else {
            guard check.knowsOfNobody else { throw check.nothingIsLeft() }
            return .nobody
        }
        throw check.onlyCopyIsLeft(standby)
    }

    /// Whether an authoritative store can be trusted while the other one is unreadable. A store that never served (epoch 0) decides nothing. The old
    /// store is sealed before the new one is given the role, but the kill switch may have given the old one the role without sealing the new one.
    private static func isCurrent(_ status: ReplicaStatus, _ engines: EnginePair, _ check: StatusCheck) -> Bool {
        let isOld = status.engine == (status.state?.engines ?? engines).old
        return status.epoch >= max(StageSwitch.firstEpoch, isOld ? 0 : check.floor)
    }

    /// Errors that concern the file and not the moment: a temporary lack of memory, descriptors or space, or a disk that fails for a while, takes no
    /// user back.
    private static let lastingFailures = lastingDamage.union([.engineUnavailable])

    /// Errors that concern only the file itself, wherever it is read.
    static let lastingDamage: Set<HabitStoreError.Code> = [.corrupt, .notAStore]
}

/// Marks the error of a kill that failed and was recorded: the next opening by any program tries again.
package struct RecordedKill: Error {
    /// Why the kill has not been carried out yet.
    package let failure: HabitStoreError

    /// Whether another try can succeed: nothing that the kill needs is damaged.
    package var isWaiting: Bool {
        !AuthorityResolution.lastingDamage.contains(failure.code) && failure.code != .staleStore
    }

    /// The error of a kill; if the kill was recorded, it says when it will be carried out.
    static func described(_ error: any Error, of directory: UserDirectory) -> any Error {
        guard let error = error as? HabitStoreError,
            KillMarker.isKilled(directory, try? ControlFile.copy(of: directory.path + "/control"))
        else { return error }
        let recorded = RecordedKill(failure: error.underlying as? HabitStoreError ?? error)
        return HabitStoreError(
            error.code,
            "the kill is recorded, and lands \(recorded.when): \(error.message)",
            at: error.location,
            underlying: recorded
        )
    }

    private var when: String {
        switch failure.code {
        case .migrationRequired, .newerVersion, .schemaMismatch:
            "when a program opens the user that has the schema version of each store"
        case .busy: "when the user is opened next and the store answers"
        default: "when the user is opened next and this is over"
        }
    }
}
