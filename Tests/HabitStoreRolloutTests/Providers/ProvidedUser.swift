import FeatureFlags
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines

@testable import HabitStoreRollout

/// A user whose flags come from a provider.
struct ProvidedUser {
    let user: StagedUser
    let flags: ScriptedFlags

    init(_ stage: Stage? = .off) throws {
        user = try StagedUser()
        flags = ScriptedFlags(stage, of: EnginePair(old: user.old, new: user.new))
    }

    func stores(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStores {
        try user.stores(flags: .provider(flags)) { options in
            options.flagWaitSeconds = 10
            change(&options)
        }
    }

    /// Brings a store to a stage, with everything that the gate asks for.
    func bring(_ store: UserStore, to stage: Stage) throws {
        flags.want(stage)
        store.reloadFlags()
        try store.passGates(to: stage) { _ = try $0.all(Habit.self) }
    }
}
