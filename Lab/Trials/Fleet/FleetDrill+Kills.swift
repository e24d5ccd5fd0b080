import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout

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
            guard run.kill() else {
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
                        if try !stores.land(user).isKilled { failures.add("\(user) is not killed") }
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
