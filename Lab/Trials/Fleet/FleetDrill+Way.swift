import Foundation
@_spi(Engines) import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitTracker
import StandardEngines

extension FleetDrill {
    /// Moves all users from `off` to `complete` while others write and one new store has a fault; then removes the old stores.
    mutating func goAllTheWay() throws {
        let root = try makeRoot("way", users: extent.users)
        defer { try? FileManager.default.removeItem(atPath: root.path) }
        let drawn = try root.draw(Self.plan(stage: .complete))
        guard let victim = drawn.wave(drawn.waves.count - 1).first?.user else {
            throw FleetDrillFailure("the last wave has no users")
        }
        try plant(victim, root)
        let logs = (0..<extent.writers).map { folder.appendingPathComponent("writer-\($0).log").path }
        let writers = try logs.enumerated().map { number, log in
            try FleetDrillProcess(
                "fleet-writer-child",
                [root.path, log, "--users", "\(extent.users)", "--seed", "\(extent.seed &+ UInt64(number))"]
            )
        }
        let halted = try FleetDrillFigures.seconds { try FleetDrillProcess("fleet-run-child", [root.path]).outcome() }
        try requireHalt(halted.result, victim, drawn, root)
        let begun = try repair(victim, root)
        let ended = try FleetDrillFigures.seconds { try FleetDrillProcess("fleet-run-child", [root.path]).outcome() }
        try require(ended.result.isDone && ended.result.passedOver == 0, "the run ended: \(ended.result.because ?? "")")
        figures.note("the store was copied again, and the fleet resumed (\(begun) users had finished)")
        let seconds = halted.seconds + ended.seconds
        figures.note("off to complete, \(extent.users) users and \(extent.writers) writers", seconds, "s")
        figures.note("off to complete", seconds / Double(extent.users) * 1_000, "ms a user")
        let memory = Double(max(halted.result.memoryBytes, ended.result.memoryBytes)) / 1_048_576
        figures.note("memory of the run", memory, "MiB", goal: goal(256))
        for writer in writers { try writer.finish() }
        let stores = try root.stores()
        try retire(drawn, stores, root)
        try requireRecords(logs, root, stores)
    }

    /// Removes a record from the new store of a user at `shadow`, bypassing the rollout.
    private func plant(_ user: String, _ root: FleetDrillRoot) throws {
        let store = try root.stores().store(for: user)
        for stage in [Stage.dualwrite, .shadow] { try store.advance(to: stage) }
        store.close()
        let new = try Engines.standard.open(root.address(.lmdb, of: user), .readWrite, schema: HabitSchema.current)
        defer { new.close() }
        try new.replicate { replica in
            var first: UUID?
            try replica.enumerate(entity: 0, after: nil) { id, _ in
                first = id
                return false
            }
            guard let first else { throw FleetDrillFailure("\(user) has no record to remove") }
            try replica.remove(entity: 0, id: first)
        }
    }

    /// Checks that the fleet halted for the user, and that no user was moved after that.
    private mutating func requireHalt(
        _ outcome: FleetRunChildCommand.Outcome,
        _ victim: String,
        _ drawn: FleetMembers,
        _ root: FleetDrillRoot
    ) throws {
        try require(!outcome.isDone && outcome.user == victim, "the run did not halt for \(victim): \(outcome)")
        let halt = try root.fleet.ledger.read().entries.last {
            if case .halted = $0.event { true } else { false }
        }
        guard let halt else { throw FleetDrillFailure("the ledger has no halt") }
        let stores = try root.stores()
        var late = 0
        for member in drawn.members {
            let records = try stores.evidence(of: member.user).read().records
            late += records.count { record in
                guard case .stageChanged(let from, let to, _, _, _, _, _) = record.event else { return false }
                return to > from && record.time > halt.time
            }
        }
        try require(late == 0, "\(late) moves were made after the halt")
        figures.note("the fault halted the fleet, which names \(victim); no user was moved afterwards")
    }

    /// Has the new store copied again, and resumes the fleet.
    ///
    /// - Returns: how many users were finished by then.
    private func repair(_ user: String, _ root: FleetDrillRoot) throws -> Int {
        let stores = try root.stores()
        let store = try stores.store(for: user)
        try store.demote(to: .off)
        store.close()
        try Engines.standard.discard(root.address(.lmdb, of: user))
        let again = try stores.store(for: user)
        defer { again.close() }
        try again.advance(to: .shadow)
        if let failure = try again.rehearse() { throw failure }
        let there = try root.fleet.status().waves.reduce(0) { $0 + ($1.stages[.complete] ?? 0) }
        try root.fleet.resume(by: "the drill", because: "the store was copied again")
        return there
    }

    private mutating func retire(_ drawn: FleetMembers, _ stores: UserStores, _ root: FleetDrillRoot) throws {
        let failures = Failures()
        let retired = FleetDrillFigures.seconds {
            DispatchQueue.concurrentPerform(iterations: drawn.members.count) { number in
                let user = drawn.members[number].user
                do {
                    let store = try stores.store(for: user)
                    defer { store.close() }
                    // The retention begins with a row in the stores that the first call writes.
                    var outcome = try store.retire(by: "the drill")
                    if !outcome.isRemoved { outcome = try store.retire(by: "the drill") }
                    if !outcome.isRemoved { failures.add("\(user): \(outcome.decision.reasons)") }
                } catch {
                    failures.add("\(user): \(error)")
                }
            }
        }
        try require(failures.all.isEmpty, "old stores remain: \(failures.all.prefix(3))")
        for member in drawn.members {
            let old = try root.address(.sqlite, of: member.user).path
            try require(!FileManager.default.fileExists(atPath: old), "\(old) remains")
        }
        figures.note("retired", retired.seconds / Double(drawn.members.count) * 1_000, "ms a user")
    }

    /// Checks that every earlier record and every acknowledged write exists exactly once.
    private mutating func requireRecords(_ logs: [String], _ root: FleetDrillRoot, _ stores: UserStores) throws {
        var written: [String: Set<UUID>] = [:]
        var unknown: [String: Set<UUID>] = [:]
        for log in logs {
            for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: " ").map(String.init)
                guard parts.count == 3, let id = UUID(uuidString: parts[1]) else { continue }
                if parts[2] == "written" {
                    written[parts[0], default: []].insert(id)
                } else {
                    unknown[parts[0], default: []].insert(id)
                }
            }
        }
        let generator = FleetGenerator(root: root.path)
        for number in 0..<extent.users {
            let (user, size) = (FleetGenerator.user(number), generator.size(number))
            let store = try stores.store(for: user)
            defer { store.close() }
            let entries = try store.fetch(FetchDescriptor<Entry>())
            let ids = Set(entries.map(\.id))
            let own = written[user] ?? []
            let more = entries.count - size.habits * size.entriesEach - own.count
            try require(own.isSubset(of: ids), "\(user) lacks \(own.subtracting(ids).count) acknowledged writes")
            let isAllowed = (0...(unknown[user]?.count ?? 0)).contains(more)
            try require(isAllowed, "\(user) has \(more) more records than were written")
            let habits = try store.fetchCount(FetchDescriptor<Habit>())
            try require(habits == size.habits, "\(user) has \(habits) habits, not \(size.habits)")
        }
        let count = written.values.reduce(0) { $0 + $1.count }
        figures.note("\(count) acknowledged writes and all earlier records exist exactly once")
    }
}
