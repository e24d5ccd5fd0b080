import Foundation
import HabitStore
import HabitStoreRollout

/// The result of comparing the index with the stores.
public struct FleetAudit: Sendable {
    /// A user who differs from the index.
    public struct Finding: Sendable, Hashable {
        /// The user.
        public let user: String
        /// The difference, in one line.
        public let message: String
    }

    /// How many users were examined.
    public let users: Int
    /// How many users' stores were compared.
    public let compared: Int
    /// The users who differ from the index.
    public let findings: [Finding]

    init(
        _ index: FleetIndex,
        _ stores: UserStores,
        _ plan: FleetPlan,
        _ signals: FleetSignals,
        sample: Int?,
        seed: UInt64,
        comparesStores: Bool
    ) throws {
        var entries = try index.entries()
        if let sample, sample < entries.count {
            entries = Array(FleetMembers.shuffled(entries, by: "\(seed)", \.user).prefix(sample))
        }
        users = entries.count
        let mover = FleetMover(stores: stores, plan: plan, signals: signals)
        var findings = zip(entries, mover.look(at: entries.map(\.user))).compactMap { entry, found -> Finding? in
            if found.stage != nil, let error = found.error { return Finding(user: entry.user, message: error) }
            // No run has examined users who were not started yet.
            guard let stage = entry.stage else { return nil }
            guard let there = found.stage else {
                return Finding(user: entry.user, message: found.error ?? "no store has the user's stage")
            }
            guard stage == there, entry.epoch == found.epoch else {
                let epochs = "epoch \(entry.epoch ?? 0)) and the stores \(there.rawValue) (epoch \(found.epoch ?? 0)"
                return Finding(user: entry.user, message: "the index says \(stage.rawValue) (\(epochs))")
            }
            return found.difference.map { Finding(user: entry.user, message: "the stores were found to differ: \($0)") }
        }
        let comparisons = comparesStores ? mover.compare(entries.map(\.user)) : []
        compared = comparisons.count(where: \.isCompared)
        findings += comparisons.compactMap { comparison in
            comparison.problem.map { Finding(user: comparison.user, message: $0) }
        }
        self.findings = findings
    }
}
