import Foundation
import HabitStore
import HabitStoreTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A user at a stage whose stores fail and hang when a test says so.
struct FaultyUser: Sendable {
    let staged: StagedUser
    let stage: Stage
    private let plans: [EngineName: FaultPlan]

    init(at stage: Stage, old: EngineName = .sqlite) throws {
        self.stage = stage
        staged = try StagedUser(old: old)
        try StageTemplates.copy(stage, old: old, to: staged.root)
        try staged.want(stage.rawValue)
        plans = Dictionary(uniqueKeysWithValues: EngineName.standard.map { ($0, FaultPlan()) })
    }

    /// What goes wrong in a store.
    func plan(_ side: StoreSide) throws -> FaultPlan {
        try #require(plans[side == .old ? staged.old : staged.old.otherStandard])
    }

    func heal() { for plan in plans.values { plan.heal() } }

    /// The user's store as another process would open it, with the faults below.
    func open(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStore {
        try staged.stores { options in
            options.mirror.waitSeconds = 0.2
            options.mirror.retrySeconds = 0.01
            options.mirror.longestRetrySeconds = 0.05
            options.mirror.closingWaitSeconds = 0.2
            options.stepLimitSeconds = 1
            options.opener = { [plans] address, access, schema in
                // The copies of a rehearsal or a self-comparison are no stores of the user's.
                let isCopy = ["rehearsal-", "self-comparison-"].contains { address.path.contains($0) }
                guard let plan = plans[address.engine], !isCopy else {
                    return try address.open(access, schema: schema)
                }
                return try FaultInjectingStore(plan, path: address.path) { try address.open(access, schema: schema) }
            }
            change(&options)
        }.store(for: "alice")
    }

    /// Pulls the kill switch for everybody, in a process.
    func pullTheKillSwitch(_ store: UserStore) throws {
        try staged.want(stage.rawValue, kill: true)
        store.flags.provider.reload()
    }

    /// One of the stores as it is on the disk; everybody else has closed it.
    func contents<R>(_ side: StoreSide, _ body: (any UserStoreBackend) throws -> R) throws -> R {
        let store = try staged.address(side).open(.readOnly)
        defer { store.close() }
        return try body(store)
    }
}
