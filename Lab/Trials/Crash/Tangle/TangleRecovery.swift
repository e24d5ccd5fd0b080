import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Opens the root after all its processes have ended, as the next process does, and reports every violation.
struct TangleRecovery {
    let root: URL
    let scenario: TangleScenario
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
            let roles = try TangleRoles(root: root)
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
            return try SweptUser(root: root.path, flags: flags, options: .tangle)
        } catch let error as HabitStoreError {
            guard isTampered, Self.refusals.contains(error.code) else {
                outcome.violations.append("opening was refused: \(error)")
                return nil
            }
            outcome.ends.append("refused, \(error.code), after \(scenario.tampering?.rawValue ?? "")")
        }
        outcome.mayLack = true
        let stores = try UserStores(root: root.path, flags: flags.path, schema: HabitSchema.current, options: .tangle)
        var failures: [String] = []
        for engine in EngineName.standard {
            do {
                _ = try stores.adopt(engine, for: SweptUser.name, by: "the sweep", because: "nothing else is left")
                let user = try SweptUser(root: root.path, flags: flags, options: .tangle)
                // A killed user may have been put on the engine that the kill moved away from.
                _ = try user.store.land()
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

    private func check(_ user: SweptUser, _ roles: TangleRoles, _ outcome: inout Outcome) throws {
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
        let mended = try SweptUser(root: root.path, flags: flags, options: .tangle)
        defer { mended.store.close() }
        let now = try TangleRoles(root: root)
        if now.count == 0 || now.areTwo { outcome.violations.append("roles after the repair: \(now)") }
        outcome.step = "re-arming and moving"
        try converge(mended, &outcome)
        outcome.step = "writing"
        let next = 2 + (base.max() ?? 0)
        try mended.store.write(author: "write \(next)") { try TangleWorkload.write(next, in: $0) }
        outcome.step = "comparing"
        try compare(mended, &outcome)
        let faults = try mended.store.read {
            try TangleWorkload.faults($0, bulk: outcome.mayLack ? nil : scenario.start.bulk)
        }
        outcome.violations += faults.map { "at the end: \($0)" }
    }

    /// With the kill switch pulled, a process with no thread for the kill opens the user: whatever the old store lacks, the user is moved back and
    /// can write.
    private func writeWhileKilled(_ outcome: inout Outcome) throws {
        try flags.want(.init(isKilled: true))
        let killed = try SweptUser(root: root.path, flags: flags, options: .tangle)
        defer { killed.store.close() }
        let next = 1 + (base.max() ?? 0)
        try killed.store.write(author: "write \(next)") { try TangleWorkload.write(next, in: $0) }
        let stage = try killed.store.stage()
        if stage != .off {
            outcome.violations.append("the kill switch is pulled, but the user writes at \(stage.rawValue)")
        }
        try flags.want(.init())
    }

    /// Opens the user. If both stores must take each write and one was removed, accepts the other one by hand.
    private func acceptingWhatIsLeft(_ stores: UserStores) throws -> SweptUser {
        let user = try SweptUser(root: root.path, flags: flags, options: .tangle)
        let engine = try user.store.engine()
        let missing = try TangleFiles(root: root).path + "/" + TangleFiles.name(engine.otherStandard)
        guard isTampered, try user.store.stage().awaitsMirror, !FileManager.default.fileExists(atPath: missing) else {
            return user
        }
        user.store.close()
        _ = try stores.adopt(engine, for: SweptUser.name, by: "the sweep", because: "the other one is gone")
        return try SweptUser(root: root.path, flags: flags, options: .tangle)
    }

    private func checkRecords(_ store: UserStore, _ outcome: inout Outcome) throws {
        let numbers = Set(try store.read(TangleWorkload.numbers))
        let (begun, open) = (union(\.begun), union(\.open))
        let lost = base.union(union(\.acknowledged)).subtracting(numbers)
        if !lost.isEmpty {
            if outcome.mayLack {
                outcome.ends.append("without acknowledged writes, as reported")
            } else {
                outcome.violations.append("acknowledged writes are lost: \(lost.sorted()); notes: \(store.notes)")
            }
        }
        let undead = union(\.failed).intersection(numbers)
        if !undead.isEmpty { outcome.violations.append("failed writes exist: \(undead.sorted())") }
        let foreign = numbers.subtracting(base).subtracting(begun)
        if !foreign.isEmpty { outcome.violations.append("writes exist that no process made: \(foreign.sorted())") }
        outcome.keptOpen = open.intersection(numbers).count
        outcome.violations += try store.read { transaction in
            try TangleWorkload.faults(transaction, bulk: outcome.mayLack ? nil : scenario.start.bulk)
        }
    }

    private func union(_ numbers: KeyPath<Report, Set<Int>>) -> Set<Int> {
        reports.reduce(into: []) { $0.formUnion($1[keyPath: numbers]) }
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
