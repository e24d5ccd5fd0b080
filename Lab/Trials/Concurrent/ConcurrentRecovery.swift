import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Opens the root after all its processes have ended, as the next process does, and reports every violation.
struct ConcurrentRecovery {
    let root: URL
    let scenario: ConcurrentScenario
    /// The writes that existed before.
    let base: Set<Int>
    let reports: [Report]
    /// Whether processes of an earlier version took part.
    let isMixed: Bool

    /// The result of a check.
    struct Outcome {
        var violations: [String] = []
        /// How the user was opened again, as texts to count.
        var ends: [String] = []
        /// How many writes were found that were neither acknowledged nor refused.
        var keptOpen = 0
        /// The current check.
        var step = "opening"
        /// Whether acknowledged writes may be missing: this was reported, or an operator has accepted an older store.
        var mayLack = false
    }

    /// The allowed refusals for a user whose files were restored or removed.
    private static let refusals: Set<HabitStoreError.Code> = [.staleStore, .notAuthoritative, .notFound]
    /// The time limit for the mirror to be filled and catch up, in seconds.
    static let comparingSeconds = 30.0
    /// How often a move is tried, since another one may interfere.
    static let tries = 4

    var isTampered: Bool { scenario.tampering != nil }
    private var flags: StageFlags {
        StageFlags(path: root.path + "-recovery.json", old: scenario.old)
    }

    func check() -> Outcome {
        var outcome = Outcome(violations: reports.flatMap(\.violations))
        if scenario.start != .differing {
            outcome.violations += reports.flatMap(\.mismatches).map { "a comparison found a difference: \($0)" }
        }
        do {
            try flags.want(.init())
            let roles = try ConcurrentRoles(root: root)
            if roles.areTwo { outcome.violations.append("two stores are authoritative at one epoch: \(roles)") }
            guard let user = try open(&outcome) else { return outcome }
            outcome.step = "reading"
            try check(user, roles, &outcome)
            user.store.close()
        } catch {
            outcome.violations.append("the recovery failed while \(outcome.step): \(error)")
        }
        return outcome
    }

    /// Opens the user; if that is refused with an allowed error, accepts a store by hand.
    private func open(_ outcome: inout Outcome) throws -> SweptUser? {
        do {
            return try SweptUser(root: root.path, flags: flags, options: .concurrent)
        } catch let error as HabitStoreError {
            guard isTampered, Self.refusals.contains(error.code) else {
                outcome.violations.append("opening was refused: \(error)")
                return nil
            }
            outcome.ends.append("refused, \(error.code), after \(scenario.tampering?.rawValue ?? "")")
        }
        outcome.mayLack = true
        let stores = try UserStores(
            root: root.path,
            flags: flags.path,
            schema: HabitSchema.current,
            options: .concurrent
        )
        var failures: [String] = []
        for engine in EngineName.standard {
            do {
                _ = try stores.adopt(engine, for: SweptUser.name, by: "the sweep", because: "nothing else is left")
                let user = try SweptUser(root: root.path, flags: flags, options: .concurrent)
                // A killed user may have been put on the engine that the kill moved away from.
                _ = try user.store.applyKill()
                return user
            } catch let error as HabitStoreError {
                failures.append("\(error)")
            }
        }
        // If one store was removed, the other may be an unfinished copy: then nothing is left.
        if scenario.tampering == .missingSQLite || scenario.tampering == .missingLMDB {
            outcome.ends.append("nothing is left")
        } else {
            outcome.violations.append("no store could be accepted: \(failures)")
        }
        return nil
    }

    private func check(_ user: SweptUser, _ roles: ConcurrentRoles, _ outcome: inout Outcome) throws {
        let stage = try user.store.stage()
        outcome.ends.append("at \(stage.rawValue)")
        if isTampered, !user.store.notes.isEmpty {
            outcome.mayLack = true
            outcome.ends.append("with a note, after \(scenario.tampering?.rawValue ?? "")")
        }
        try checkRecords(user.store, &outcome)
        outcome.step = "checking the kill"
        try checkKilled(user, stage, &outcome)
        if scenario.start == .differing {
            outcome.step = "looking for the difference"
            return try checkDifference(user, stage, &outcome)
        }
        user.store.close()
        outcome.step = "reading the evidence"
        try checkEvidence(&outcome)
        outcome.step = "repairing"
        let left = try user.stores.mend(SweptUser.name)
        for finding in left {
            outcome.ends.append("not repaired: \(finding.kind.rawValue)")
            if finding.canBeMended { outcome.violations.append("a repairable problem was left: \(finding.message)") }
        }
        try acceptingWhatIsLeft(user.stores).store.close()
        outcome.step = "writing while killed"
        try writeWhileKilled(&outcome)
        let mended = try SweptUser(root: root.path, flags: flags, options: .concurrent)
        defer { mended.store.close() }
        let now = try ConcurrentRoles(root: root)
        if now.count == 0 || now.areTwo { outcome.violations.append("roles after the repair: \(now)") }
        outcome.step = "re-arming and moving"
        try converge(mended, &outcome)
        outcome.step = "writing"
        let next = 2 + (base.max() ?? 0)
        try mended.store.write(author: "write \(next)") { try ConcurrentWorkload.write(next, in: $0) }
        outcome.step = "comparing"
        try compare(mended, &outcome)
        let faults = try mended.store.read {
            try ConcurrentWorkload.faults($0, bulk: outcome.mayLack ? nil : scenario.start.bulk)
        }
        outcome.violations += faults.map { "at the end: \($0)" }
    }

    /// With the kill switch pulled, a process with no thread for the kill opens the user: whatever the old store lacks, the user is moved back and
    /// can write.
    private func writeWhileKilled(_ outcome: inout Outcome) throws {
        try flags.want(.init(isKilled: true))
        let killed = try SweptUser(root: root.path, flags: flags, options: .concurrent)
        defer { killed.store.close() }
        let next = 1 + (base.max() ?? 0)
        try killed.store.write(author: "write \(next)") { try ConcurrentWorkload.write(next, in: $0) }
        let stage = try killed.store.stage()
        if stage != .off {
            outcome.violations.append("the kill switch is pulled, but the user writes at \(stage.rawValue)")
        }
        try flags.want(.init())
    }

    /// Opens the user. If both stores must take each write and one was removed, accepts the other one by hand.
    private func acceptingWhatIsLeft(_ stores: UserStores) throws -> SweptUser {
        let user = try SweptUser(root: root.path, flags: flags, options: .concurrent)
        let engine = try user.store.engine()
        let missing = try ConcurrentFiles(root: root).path + "/" + ConcurrentFiles.name(engine.otherStandard)
        guard isTampered, try user.store.stage().awaitsMirror, !FileManager.default.fileExists(atPath: missing) else {
            return user
        }
        user.store.close()
        _ = try stores.adopt(engine, for: SweptUser.name, by: "the sweep", because: "the other one is gone")
        return try SweptUser(root: root.path, flags: flags, options: .concurrent)
    }

    private func checkRecords(_ store: UserStore, _ outcome: inout Outcome) throws {
        let numbers = Set(try store.read(ConcurrentWorkload.numbers))
        let ledger = reports.reduce(WriteLedger()) { $0 + $1.ledger }
        for loss in ledger.losses(numbers, base: base) {
            if outcome.mayLack {
                outcome.ends.append("without acknowledged writes, as reported")
            } else {
                outcome.violations.append("\(loss); notes: \(store.notes)")
            }
        }
        outcome.violations += ledger.additions(numbers, base: base)
        outcome.keptOpen = ledger.open.intersection(numbers).count
        outcome.violations += try store.read { transaction in
            try ConcurrentWorkload.faults(transaction, bulk: outcome.mayLack ? nil : scenario.start.bulk)
        }
    }

    /// A killed user is on the engine that the kill chose, whatever other flag files say.
    private func checkKilled(_ user: SweptUser, _ stage: Stage, _ outcome: inout Outcome) throws {
        let landings = reports.flatMap(\.landings).sorted { $0.key < $1.key }
        // A re-arm that ended after the last kill began, or that did not end, may have moved the user.
        let rearms = reports.flatMap(\.rearms)
        let last = landings.last.flatMap { last in
            !isTampered && rearms.allSatisfy { ($0.ended ?? .max) < last.key } ? last : nil
        }
        guard try user.stores.status(of: SweptUser.name).isKilled else {
            if last != nil { outcome.violations.append("a completed kill was forgotten without a re-arm") }
            return
        }
        outcome.ends.append("killed")
        if stage != .off { outcome.violations.append("the user is killed but at \(stage.rawValue)") }
        let engine = try user.store.engine()
        if let last, last.value != engine {
            outcome.violations.append(
                "the kill put the user on \(last.value.rawValue), but the user is on \(engine.rawValue)"
            )
        }
        guard !isTampered, !landings.isEmpty else { return }
        guard let other = reports.last.map({ _ in flags }) else { return }
        try other.want(.init(stage: .complete, old: engine.otherStandard))
        user.stores.reloadFlags()
        let turned = try user.store.engine()
        if turned != engine {
            outcome.violations.append("an exchanged flag file moved a killed user to \(turned.rawValue)")
        }
        try flags.want(.init())
        user.stores.reloadFlags()
    }
}

extension ConcurrentRecovery {
    /// The chain is intact, no difference was found, and every move to `live` was admitted.
    func checkEvidence(_ outcome: inout Outcome) throws {
        let isEvidenceTampered = [.olderEvidence, .missingEvidence, .olderFolder].contains(scenario.tampering)
        guard !isEvidenceTampered else { return }
        let chain = try EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)).read()
        if let damage = chain.damage {
            outcome.violations.append("evidence line \(damage.line): \(damage.reason)")
        }
        var admitted: [Int] = []
        var epochs: [Int] = []
        var verified: [Date] = []
        for record in chain.records {
            switch record.event {
            // If no mirror follows at this stage, another store may be an old one or not filled yet.
            case .difference(let stage, let token, let message, _)
            where !isTampered && stage.mirror != nil && scenario.start != .differing:
                outcome.violations.append("a difference at \(stage.rawValue), token \(token): \(message)")
            case .verified: verified.append(record.time)
            case .admitted(let to, let epoch):
                if to == .live { admitted.append(epoch) }
                checkFreshness(of: verified, for: to, at: record.time, &outcome)
            case .stageChanged(let from, let to, let epoch, _, let reason, _, _):
                verified = []
                if reason == .differenceFound, !isTampered {
                    outcome.violations.append(
                        "the user was moved from \(from) to \(to) for a difference, but nothing differed"
                    )
                }
                let before = epochs.filter { $0 < epoch }.max() ?? 0
                // Earlier versions admitted users without recording it.
                if to == .live, from < .live, !isMixed, !admitted.contains(where: { $0 >= before && $0 < epoch }) {
                    outcome.violations.append(
                        "\(from) to live (\(reason.rawValue)) at epoch \(epoch) without admission since epoch \(before)"
                    )
                }
                epochs.append(epoch)
            default: break
            }
        }
    }

    /// A user was admitted on verifications from the same stay that were neither too old nor in the future, by the admitting process's clock.
    private func checkFreshness(of verified: [Date], for stage: Stage, at time: Date, _ outcome: inout Outcome) {
        guard stage >= .live, !verified.isEmpty else { return }
        let lifetime = RolloutOptions.concurrent.gate.verificationLifetimeSeconds + Gate.clockToleranceSeconds
        let ages = verified.map { time.timeIntervalSince($0) }
        if !ages.contains(where: { $0 >= -Gate.clockToleranceSeconds && $0 <= lifetime }) {
            outcome.violations.append("admitted to \(stage) on verifications that were \(ages.map { Int($0) }) s old")
        }
    }

    /// Differing stores never let a user in, regardless of the state of the evidence files, and a difference that was found is recorded.
    func checkDifference(_ user: SweptUser, _ stage: Stage, _ outcome: inout Outcome) throws {
        let found = reports.flatMap(\.mismatches).count
        outcome.ends.append(found > 0 ? "a difference was found" : "no comparison looked for the difference")
        if stage >= .live { outcome.violations.append("the user reached \(stage), although the stores differ") }
        if found > 0, try !user.store.owesEvidence && !isDifferenceInEvidence() {
            outcome.violations.append("a difference was found, but it is neither in the evidence nor owed to it")
        }
        if stage == .shadow, try user.goForward() == nil {
            outcome.violations.append("the gate to live is open, although the stores differ")
        }
        user.store.close()
    }

    private func isDifferenceInEvidence() throws -> Bool {
        let chain = try EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)).read()
        return chain.records.contains { record in
            switch record.event {
            case .difference: true
            case .verified(_, _, _, _, let differences, _, _): differences > 0
            default: false
            }
        }
    }
}

extension ConcurrentRecovery {
    /// Brings the user to a stage with two equal stores.
    func converge(_ user: SweptUser, _ outcome: inout Outcome) throws {
        try user.rearm()
        var missing: String?
        for _ in 0..<Self.tries {
            do {
                switch try user.store.stage() {
                case .off: missing = try user.goForward()
                // The flags may have moved the user to `complete`: the way back from there is one step with a copy.
                case .complete: try user.goBack()
                default: return
                }
            } catch let error as HabitStoreError where [.notAuthoritative, .busy, .unsupported].contains(error.code) {
                // The flags may move the user in between: going back may no longer be possible from the new stage.
                missing = "\(error)"
            }
            guard let reason = missing, reason.contains("the evidence") else { continue }
            // A failed reset has to be repeated.
            let mayBe = isTampered || reports.contains(where: \.hasUnfinishedReset)
            if !mayBe { outcome.violations.append("the evidence keeps the gate closed: \(reason)") }
            // The flags may move the user in between; the next try finds out.
            _ = try? user.store.resetEvidence(because: "it was put back", by: "the sweep")
        }
        let stage = try user.store.stage()
        if stage == .off || stage == .complete {
            outcome.violations.append("the user cannot leave \(stage.rawValue): \(missing ?? "no reason given")")
        }
    }

    /// Both stores have the same token and the same records once the mirror has caught up.
    func compare(_ user: SweptUser, _ outcome: inout Outcome) throws {
        let deadline = Date(timeIntervalSinceNow: Self.comparingSeconds)
        while true {
            let text: String
            do {
                let found = try user.store.verify()
                if found.verdict == .match, found.a.information.token == found.b.information.token {
                    outcome.violations += found.anomalies.map { "a check found \($0.count) of \($0.kind)" }
                    return
                }
                let first = found.differences.first?.message ?? found.reason ?? ""
                let tokens = "\(found.a.information.token) and \(found.b.information.token)"
                text = "\(found.verdict.rawValue), tokens \(tokens), \(first)"
            } catch {
                // An unfinished copy cannot be compared until the mirror has continued it.
                text = "\(error)"
            }
            guard Date() < deadline else {
                outcome.violations.append(
                    "the stores at \(try user.store.stage().rawValue) differ: \(text), mirror \(user.store.mirrorStatus)"
                )
                return
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}

/// The roles in a user's stores, read without changing anything.
struct ConcurrentRoles: CustomStringConvertible {
    private var found: [(engine: EngineName, role: StoreRole, epoch: Int, token: HistoryToken)] = []

    init(root: URL) throws {
        let files = try ConcurrentFiles(root: root)
        for engine in EngineName.standard {
            let path = files.path + "/" + ConcurrentFiles.name(engine)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            do {
                let store = try StoreAddress(engine, path: path).open(.readOnly, schema: HabitSchema.current)
                defer { store.close() }
                let information = try store.replicaRead { try $0.information() }
                found.append((engine, information.role, information.epoch, information.token))
            } catch let error as HabitStoreError where error.code == .notAStore {
                // A process died while it created the file.
                continue
            }
        }
    }

    private var authoritative: [(engine: EngineName, role: StoreRole, epoch: Int, token: HistoryToken)] {
        found.filter { $0.role == .authoritative && $0.epoch > 0 }
    }

    /// The number of authoritative stores.
    var count: Int { authoritative.count }

    /// Whether both are authoritative in the same epoch: then it is undecided which one serves.
    var areTwo: Bool { count == 2 && authoritative[0].epoch == authoritative[1].epoch }

    var description: String {
        found.map { "\($0.engine.rawValue) \($0.role.rawValue) at epoch \($0.epoch), token \($0.token)" }
            .joined(separator: "; ")
    }
}
