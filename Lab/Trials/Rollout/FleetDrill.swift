import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// A whole fleet as an operator sees it: many users who write while they are moved, a fault in one of their stores, killed runs, a pulled kill
/// switch,
/// and the removal of the old stores.
struct FleetDrill {
    /// The size of the drill.
    struct Extent {
        /// Users who are only planned, listed and indexed.
        var indexed = 100_000
        /// Users who are moved all the way while others write.
        var users = 10_000
        /// Users whose run is killed, and who are moved back.
        var killed = 1_000
        /// How often the run is killed.
        var kills = 100
        /// The number of writing processes.
        var writers = 8
        var seed: UInt64 = 1
    }

    let extent: Extent
    let folder: URL
    var figures = FleetDrillFigures()
    var random: SeededGenerator

    init(_ extent: Extent, in folder: URL) {
        (self.extent, self.folder) = (extent, folder)
        random = SeededGenerator(seed: extent.seed)
    }

    /// Runs the whole drill.
    ///
    /// - Throws: if a user is lost, moved twice or moved past a halt, or if a record is missing.
    mutating func run() throws {
        figures.note("seed \(extent.seed), \(ProcessInfo.processInfo.activeProcessorCount) processors")
        if extent.indexed > 0 { try index() }
        if extent.killed > 0 { try killRuns() }
        if extent.users > 0 { try goAllTheWay() }
    }

    /// Makes a root with users.
    func makeRoot(_ name: String, users: Int) throws -> FleetDrillRoot {
        let root = FleetDrillRoot(path: folder.appendingPathComponent(name).path)
        try root.make()
        try FleetGenerator(root: root.path).make(users)
        return root
    }

    func require(_ isSo: Bool, _ failure: @autoclosure () -> String) throws {
        if !isSo { throw FleetDrillFailure(failure()) }
    }

    // MARK: Many users, none of them moved

    private mutating func index() throws {
        let root = try makeRoot("index", users: extent.indexed)
        defer { try? FileManager.default.removeItem(atPath: root.path) }
        let plan = try FleetDrillFigures.seconds { try root.draw(Self.plan(stage: .complete)) }
        figures.note("plan of \(extent.indexed) users", plan.seconds, "s", goal: goal(2))
        let status = try FleetDrillFigures.seconds { try root.fleet.status() }
        figures.note("status of \(extent.indexed) users", status.seconds, "s", goal: goal(0.2))
        try runPaused(root)
        let stores = try root.stores()
        let rebuilt = try FleetDrillFigures.seconds { try root.fleet.rebuild(stores) { _, _ in } }
        figures.note("rebuilding the index of \(extent.indexed) users", rebuilt.seconds, "s", goal: goal(60))
        try require(rebuilt.result == extent.indexed, "the index has \(rebuilt.result) users")
    }

    /// A run that knows all users but must not start.
    private mutating func runPaused(_ root: FleetDrillRoot) throws {
        try root.fleet.pause(by: "the drill", because: "no user must move")
        let run = try FleetDrillProcess("fleet-run-child", [root.path])
        func hasBegun() throws -> Bool {
            try root.fleet.ledger.read().entries.contains { if case .waveBegan = $0.event { true } else { false } }
        }
        while try !hasBegun() {
            try require(run.child.isRunning, "the run has ended")
            Thread.sleep(forTimeInterval: 0.2)
        }
        Thread.sleep(forTimeInterval: 2)
        let status = try FleetDrillFigures.seconds { try root.fleet.status() }
        try require(status.result.state == "paused", "a paused fleet has the state \(status.result.state)")
        figures.note("status of \(extent.indexed) users during a run", status.seconds, "s", goal: goal(0.2))
        if let memory = run.memoryBytes {
            let mebibytes = Double(memory) / 1_048_576
            figures.note("memory of a run over \(extent.indexed) users", mebibytes, "MiB", goal: goal(256))
        }
        try require(run.child.kill(), "the run has ended")
        try root.fleet.resume(by: "the drill", because: "the status was measured")
    }

    /// Goals apply only to the full drill.
    func goal(_ goal: Double) -> Double? { extent.indexed >= 100_000 || extent.users >= 10_000 ? goal : nil }

    static func plan(stage: Stage) -> String {
        """
        {"stage": "\(stage.rawValue)", "lookSeconds": 0.2, "ioPressure": null, "atOnce": 8,
         "waves": [{"name": "canary", "users": 10}, {"name": "1 %", "percent": 1}, {"name": "5 %", "percent": 5},
                   {"name": "25 %", "percent": 25}, {"name": "everybody", "percent": 100}],
         "halts": {"ioPressure": null}}
        """
    }
}

/// `habitstore-trials fleet-drill`.
struct FleetDrillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-drill",
        abstract:
            "Move a fleet to complete during writes, with a fault, kills and the removal of the old stores, and measure it.",
        discussion:
            "Exit code 1 means a violation; missed goals are only printed."
    )

    @Option(help: "Users who are only planned, listed and indexed; 100,000 take 9 GB.")
    var indexed = FleetDrill.Extent().indexed

    @Option(help: "Users who are moved to complete.")
    var users = FleetDrill.Extent().users

    @Option(help: "Users whose run is killed, and who are moved back.")
    var killed = FleetDrill.Extent().killed

    @Option(help: "How often that run is killed.")
    var kills = FleetDrill.Extent().kills

    @Option(help: "Processes that write.")
    var writers = FleetDrill.Extent().writers

    @Option(help: "The seed of the kills and the writes.")
    var seed: UInt64 = 1

    @Option(help: "The folder for the users, who are removed at the end. [default: the temporary folder]")
    var folder: String?

    func validate() throws {
        guard users == 0 || users >= 40 else {
            throw ValidationError("--users must be 0 or at least 40: each wave needs some")
        }
    }

    func run() throws {
        var extent = FleetDrill.Extent()
        (extent.indexed, extent.users, extent.killed) = (indexed, users, killed)
        (extent.kills, extent.writers, extent.seed) = (kills, writers, seed)
        let parent = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("habitstore-drill-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var drill = FleetDrill(extent, in: folder)
        do {
            try drill.run()
        } catch {
            print("FAILED (seed \(seed)): \(error)")
            throw ExitCode(1)
        }
        if drill.figures.missed > 0 { print("\(drill.figures.missed) goals were missed") }
    }
}

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

extension FleetDrill {
    /// Runs that are killed at any moment, and users at rest: verified by their kept digests, and moved back by the kill switch.
    mutating func killRuns() throws {
        let root = try makeRoot("killed", users: extent.killed)
        defer { try? FileManager.default.removeItem(atPath: root.path) }
        let drawn = try root.draw(Self.plan(stage: .rampdown))
        let kills = try killRuns(of: root)
        let stores = try root.stores()
        let members = try root.fleet.members()
        try require(members == drawn, "the waves differ from those that were drawn")
        for member in drawn.members {
            let stage = try stores.status(of: member.user).stage
            try require(stage == .rampdown, "\(member.user) is at \(stage?.rawValue ?? "no stage"), not at rampdown")
            let promotions = try Self.promotions(of: member.user, stores)
            try require(promotions == Self.way(to: .rampdown), "\(member.user) was promoted to \(promotions)")
        }
        figures.note(
            "\(kills) runs were killed: no user was lost or moved twice, and the waves are unchanged"
        )
        try compareAtRest(root, stores)
        try takeBack(root)
    }

    /// - Returns: how many runs were killed before one finished.
    private mutating func killRuns(of root: FleetDrillRoot) throws -> Int {
        for kill in 0..<extent.kills {
            let run = try FleetDrillProcess("fleet-run-child", [root.path])
            Thread.sleep(forTimeInterval: Double.random(in: 0.02...0.6, using: &random))
            guard run.child.kill() else {
                let outcome = try run.outcome()
                try require(outcome.isDone, "a run ended: \(outcome.because ?? "")")
                return kill
            }
        }
        let outcome = try FleetDrillProcess("fleet-run-child", [root.path]).outcome()
        try require(outcome.isDone, "the last run did not finish: \(outcome.because ?? "")")
        return extent.kills
    }

    /// The stages into which the gate admitted a user, in the order of the evidence. A move that its process did not live to record appears as a
    /// recovered
    /// one.
    private static func promotions(of user: String, _ stores: UserStores) throws -> [Stage] {
        try stores.evidence(of: user).read().records.compactMap { record in
            guard case .stageChanged(let from, let to, _, _, let reason, _, _) = record.event, to > from,
                reason == .promoted || reason == .recovered
            else { return nil }
            return to
        }
    }

    static func way(to stage: Stage) -> [Stage] { Stage.allCases.filter { $0 > .off && $0 <= stage } }

    private mutating func compareAtRest(_ root: FleetDrillRoot, _ stores: UserStores) throws {
        let audit = try FleetDrillFigures.seconds {
            try root.fleet.audit(stores, sample: nil, seed: extent.seed, comparesStores: true)
        }
        try require(audit.result.findings.isEmpty, "the audit found \(audit.result.findings)")
        try require(audit.result.compared == extent.killed, "\(audit.result.compared) users were compared")
        let looked = try FleetDrillFigures.seconds { try root.fleet.audit(stores, sample: nil, seed: extent.seed) }
        let each = (audit.seconds - looked.seconds) / Double(extent.killed) * 1_000
        figures.note("verifying a user at rest by kept digests", each * Self.processors, "ms of a core", goal: goal(5))
        figures.note(
            "rebuilding the index of users with two stores",
            try FleetDrillFigures.seconds { try root.fleet.rebuild(stores) { _, _ in } }.seconds
                / Double(extent.killed) * 1_000,
            "ms a user"
        )
    }

    private mutating func takeBack(_ root: FleetDrillRoot) throws {
        try Data("the drill\n".utf8).write(to: URL(fileURLWithPath: RolloutFlags.sentinelPath(root: root.path)))
        let (stores, users) = (try root.stores(), (0..<extent.killed).map(FleetGenerator.user))
        let queue = DispatchQueue(label: "fleet-drill", attributes: .concurrent)
        let failures = Failures()
        let landed = FleetDrillFigures.seconds {
            let group = DispatchGroup()
            let places = DispatchSemaphore(value: Int(Self.processors) * 8)
            for user in users {
                places.wait()
                queue.async(group: group) {
                    defer { places.signal() }
                    do {
                        if try !stores.applyKill(user).isKilled { failures.add("\(user) is not killed") }
                    } catch {
                        failures.add("\(user): \(error)")
                    }
                }
            }
            group.wait()
        }
        try require(failures.all.isEmpty, "the kill did not land: \(failures.all.prefix(3))")
        figures.note(
            "completing a kill for a user at rest",
            landed.seconds / Double(users.count) * 1_000 * Self.processors,
            "ms of a core",
            goal: goal(3)
        )
        for user in users {
            let status = try stores.status(of: user)
            try require(
                status.stage == .off && status.isKilled && status.engine == .sqlite,
                "\(user) was not moved back"
            )
        }
    }

    private static var processors: Double { Double(ProcessInfo.processInfo.activeProcessorCount) }
}
