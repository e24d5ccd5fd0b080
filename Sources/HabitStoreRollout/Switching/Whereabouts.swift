import HabitStore

/// Where a user is, by what the stores say and what is known beside them: the one rule, which whoever opens, moves, inspects or
/// copies a user's stores goes by. Nothing is asked or changed by it.
struct Whereabouts {
    enum Answer {
        /// Nobody: no store was ever given a role.
        case nobody
        /// This store serves.
        case serves(Standing)
        /// This store serves, wherever it is reached from: it was accepted on another machine while this one went on with the store
        /// that is left, which follows where it holds nothing more.
        case acceptedElsewhere(Standing, left: Standing)
        /// A move got no further than sealing: this store takes its role again.
        case reopens(Standing)
        /// A move was decided in the store that was left, and only it can be finished: the other store takes the role.
        case finishes(left: Standing, target: Standing)
        /// The old store holds everything that was acknowledged, and takes over from a new one that is gone, cannot be read,
        /// or is not what the user has come to, which is said then.
        case takesOver(Standing, HabitStoreError?)
        /// No store is sure to be current.
        case refused(HabitStoreError)
    }

    let answer: Answer
    /// Where both stores are written, what the old one holds beyond the one that serves: the next opening carries it over.
    let ahead: Standing?

    /// - Parameters:
    ///   - engines: those that the user's rollout is between.
    ///   - isKilled: whether the user is to be taken back: a new store that does not answer is left then.
    init(_ found: StandingsFound, _ engines: EnginePair, _ witness: StoreWitness, isKilled: Bool) {
        ahead = Self.ahead(found)
        do throws(HabitStoreError) {
            answer = try Self.judge(found, engines, witness, isKilled)
        } catch {
            answer = .refused(error)
        }
    }

    private static func ahead(_ found: StandingsFound) -> Standing? {
        guard let leading = found.standings.leading, leading.role == .authoritative,
            leading.state?.stage.awaitsMirror == true
        else { return nil }
        return found.standings.first {
            $0.engine != leading.engine && $0.lineage == leading.lineage && $0.claimsAll && $0.token > leading.token
        }
    }

    /// The store that holds the user's current data, for whoever only reads it; nil for nobody.
    ///
    /// - Throws: why no store is sure to be current. A store on standby is never taken in its place, unless it is sure to hold
    ///   everything.
    var current: Standing? {
        get throws(HabitStoreError) {
            switch answer {
            case .nobody: nil
            case .serves(let standing): ahead ?? standing
            case .acceptedElsewhere(let standing, let left):
                throw StoreWitness.objection(toLeaving: left, for: standing)
            case .reopens(let standing), .takesOver(let standing, _), .finishes(_, let standing): standing
            case .refused(let error): throw error
            }
        }
    }

    private static func judge(
        _ found: StandingsFound,
        _ engines: EnginePair,
        _ witness: StoreWitness,
        _ isKilled: Bool
    ) throws(HabitStoreError) -> Answer {
        let own = found.standings.filter { witness.objection(toOwnerOf: $0) == nil }
        if let elsewhere = own.leading.flatMap(witness.objection(toMachineOf:)) { throw elsewhere }
        let leading = own.filter { $0.hasRole && !$0.isRescued }.leading
        let authoritative = leading.flatMap { $0.role == .authoritative ? $0 : nil }
        var objection: HabitStoreError?
        if let authoritative, found.failures.isEmpty || isCurrent(authoritative, engines, witness) {
            objection = witness.objection(to: authoritative, beside: found)
            if objection == nil { return try serves(authoritative, found, engines, witness) }
        } else if let decided = try decided(own, found, witness) {
            return decided
        } else if let sealed = own.lazy.filter({ $0.role == .sealed }).leading {
            // The other one may have been left sealed in an earlier epoch, with a write that nobody was told of.
            if let objection = witness.objection(to: sealed, beside: found) { throw objection }
            // The store that cannot be read may be the one that was given the role; unless the sealed one has to be written
            // first for anything to be acknowledged.
            if let failure = found.failure, !sealed.claimsAll { throw failure }
            return .reopens(sealed)
        }
        // The highest epoch wins: what is beside it was put back, is gone, or cannot be read.
        if let claiming = own.first(where: \.claimsAll), authoritative.map({ $0.epoch < claiming.epoch }) ?? true {
            if let objection = witness.objection(to: claiming, beside: found) { throw objection }
            // The file may be sound, or readable in a moment: whoever can read it has to decide.
            if !isKilled, let failure = found.failure, !lastingFailures.contains(failure.code) { throw failure }
            return .takesOver(claiming, objection)
        }
        if let objection { throw objection }
        if let rescued = own.first(where: { $0.isRescued && $0.role == .authoritative }) {
            // Nothing else is current. It is only read, to bring the other one up.
            if let objection = witness.objection(to: rescued, beside: found) { throw objection }
            return .serves(rescued)
        }
        return try judgeWithoutRole(found, witness)
    }

    private static func serves(
        _ serving: Standing,
        _ found: StandingsFound,
        _ engines: EnginePair,
        _ witness: StoreWitness
    ) throws(HabitStoreError) -> Answer {
        // Nobody here has claimed its epoch, and the store in this machine's files was not left.
        guard serving.isShared, serving.epoch > witness.floor,
            let left = found.standing(engines.other(than: serving.engine)), !left.isShared, left.role == .authoritative,
            left.hasServed || left.token > .zero
        else { return .serves(serving) }
        guard left.lineage == serving.lineage else { throw witness.objection(toOriginOf: serving, beside: left) }
        return .acceptedElsewhere(serving, left: left)
    }

    /// What becomes of a move that was decided in the store that was left: it says so, on standby in the new epoch, and holds
    /// nothing that the other one has not.
    private static func decided(
        _ own: [Standing],
        _ found: StandingsFound,
        _ witness: StoreWitness
    ) throws(HabitStoreError) -> Answer? {
        let left = own.filter { $0.role == .standby && $0.state?.movingTo != nil }.max { $0.epoch < $1.epoch }
        guard let left, let state = left.state, state.movingTo == state.stage else { return nil }
        let engine = state.engine(state.stage.authority)
        if let failure = found.failures[engine] {
            // One that holds everything takes over from a store that is damaged, and waits for one that is away.
            if left.claimsAll { return nil }
            throw failure
        }
        guard engine != left.engine, own.allSatisfy({ $0.epoch <= left.epoch }) else { return nil }
        if let objection = witness.objection(to: left, beside: found) { throw objection }
        guard let target = own.first(where: { $0.engine == engine }), target.lineage == left.lineage,
            target.token == left.token, target.epoch < left.epoch,
            target.role == .standby || target.role == .sealed
        else { return nil }
        return .finishes(left: left, target: target)
    }

    /// No store has a role that counts.
    private static func judgeWithoutRole(
        _ found: StandingsFound,
        _ witness: StoreWitness
    ) throws(HabitStoreError) -> Answer {
        if let failure = found.failure {
            // No store was ever given a role here: a process was killed while it made the user's first one.
            let isUnmade = found.failures.values.allSatisfy { $0.code == .notAStore }
            if found.standings.isEmpty, witness.floor == 0, isUnmade { return .nobody }
            throw failure
        }
        if let foreign = found.standings.lazy.compactMap(witness.objection(toOwnerOf:)).first { throw foreign }
        guard let standby = found.standings.first else {
            guard witness.knowsOfNobody else { throw witness.nothingIsLeft() }
            return .nobody
        }
        throw witness.onlyCopyIsLeft(standby)
    }

    /// Whether a store that calls itself authoritative can be believed beside one that cannot be read: one that never
    /// served anybody (epoch 0) decides nothing. The old store is sealed before the new one is given the role, but the old
    /// one may have been given it without that, by the kill switch.
    private static func isCurrent(_ standing: Standing, _ engines: EnginePair, _ witness: StoreWitness) -> Bool {
        let isOld = standing.engine == (standing.state?.engines ?? engines).old
        return standing.epoch >= max(StageSwitch.firstEpoch, isOld ? 0 : witness.floor)
    }

    /// What a file that cannot be read says about itself, and not about the moment: memory, descriptors, room and a disk that
    /// fails for a while take nobody back.
    private static let lastingFailures = lastingDamage.union([.engineUnavailable])

    /// What can only be said of the file itself, wherever it is read.
    static let lastingDamage: Set<HabitStoreError.Code> = [.corrupt, .notAStore]
}
