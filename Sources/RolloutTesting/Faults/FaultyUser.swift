import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreRollout
@_spi(Engines) import HabitStoreTesting

/// A user at a stage whose stores fail and hang on request.
package struct FaultyUser: Sendable {
    package let staged: StagedUser
    /// The user's stage.
    package let stage: Stage
    private let plans: [EngineName: FaultPlan]

    /// Brings a user to a stage, without faults.
    package init(at stage: Stage, _ rollout: RolloutUnderTest) throws {
        self.stage = stage
        staged = try rollout.user(at: stage)
        plans = Dictionary(uniqueKeysWithValues: staged.engines.names.map { ($0, FaultPlan()) })
    }

    /// The faults of a store.
    package func plan(_ side: StoreSide) throws -> FaultPlan {
        try require(plans[side == .old ? staged.old : staged.new], "the plan of the \(side.rawValue) store")
    }

    /// Ends all faults.
    package func heal() { for plan in plans.values { plan.heal() } }

    /// Opens the user's store as another process would, with the faults injected.
    package func open(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStore {
        try staged.stores { options in
            options.mirror.waitSeconds = 0.2
            options.mirror.retrySeconds = 0.01
            options.mirror.longestRetrySeconds = 0.05
            options.mirror.closingWaitSeconds = 0.2
            options.stepLimitSeconds = 1
            options.opener = { [plans, engines = staged.engines] address, access, schema in
                // The copies of a rehearsal or a self-comparison are not the user's stores.
                let isCopy = ["rehearsal-", "self-comparison-"].contains { address.path.contains($0) }
                guard let plan = plans[address.engine], !isCopy else {
                    return try engines.open(address, access, schema: schema)
                }
                return try FaultInjectingStore(plan, path: address.path) {
                    try engines.open(address, access, schema: schema)
                }
            }
            change(&options)
        }.store(for: "alice")
    }

    /// Pulls the kill switch for all users, in one process.
    package func pullTheKillSwitch(_ store: UserStore) throws {
        try staged.want(stage.rawValue, kill: true)
        store.reloadFlags()
    }

    /// Opens one of the stores without faults, once all others have closed it.
    package func contents<R>(_ side: StoreSide, _ body: (any UserStoreBackend) throws -> R) throws -> R {
        try staged.withStore(side, .readOnly, body)
    }
}
