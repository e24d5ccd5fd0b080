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
        while let next = try store.stage().next, next <= stage {
            for _ in 0..<5 { _ = try store.all(Habit.self) }
            let decision = try store.advance(to: next)
            guard decision?.isOpen == true else {
                let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "nothing was decided"
                throw HabitStoreError(.unsupported, "the gate to \(next.rawValue) is closed: \(reasons)")
            }
        }
        _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
    }
}
