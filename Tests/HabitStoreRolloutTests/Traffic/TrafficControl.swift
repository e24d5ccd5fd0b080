import Foundation
import HabitStore
import HabitStoreTesting

@testable import HabitStoreRollout

/// Moves a user up and down the stages at random and pulls the kill switch, while other processes use the stores.
///
/// The gate is not asked: other tests cover it, and here the user should move often.
struct TrafficControl {
    let user: StagedUser
    let store: UserStore
    private var generator: SeededGenerator
    private(set) var moves = 0
    private(set) var kills: [Stage: Int] = [:]

    init(_ user: StagedUser, seed: UInt64) throws {
        self.user = user
        generator = SeededGenerator(seed: seed)
        store = try user.stores { $0.logger.logLevel = .critical }.store(for: "alice")
    }

    /// Makes some moves, then pulls the kill switch until the user is back, and re-arms.
    mutating func round() throws {
        let target = Int.random(in: 0...5, using: &generator)
        for _ in 0..<12 {
            let here = try store.stage()
            guard here.position != target else { break }
            // Now and then a step back on the way.
            let isBack = here > .off && Int.random(in: 0..<5, using: &generator) == 0
            guard let stage = Stage(position: here.position + (isBack ? -1 : 1)) else { break }
            try move(from: here, to: stage)
            Thread.sleep(forTimeInterval: Double.random(in: 0...0.02, using: &generator))
        }
        try kill()
    }

    private mutating func move(from here: Stage, to stage: Stage) throws {
        do {
            if stage < here {
                try store.demote(to: stage)
            } else {
                try fillMirror(at: here)
                let lease = try store.files.lease()
                try lease.user.move(.recovered) { look, actual, _ in
                    actual.stage == here ? try look.change.move(actual, to: stage) : nil
                }
            }
            moves += 1
        } catch let error as HabitStoreError where error.underlying is StageSwitch.Overtaken {
            // A kill bypasses a mover that makes no progress, and took the user back; a run of 200 kills ended here.
        }
    }

    /// Waits for any process to fill the new store: no gate would move a user onto an unfinished copy.
    ///
    /// A run ended in its first moves because the mirror had failed temporarily, and the user was moved all the same. A process that saw the kill
    /// switch late may take the user back in the meantime; then that stage's mirror is not waited for.
    private func fillMirror(at here: Stage) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try store.stage() == here, let mirror = store.files.leases.load()?.mirror,
            !mirror.waitUntilIdle(waitSeconds: 1)
        {
            guard ContinuousClock.now < deadline else {
                throw HabitStoreError(.busy, "the new store is not filled: \(mirror.status)")
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    private mutating func kill() throws {
        let sentinel = RolloutFlags.sentinelPath(root: user.root)
        kills[try store.stage(), default: 0] += 1
        try Data().write(to: URL(fileURLWithPath: sentinel))
        store.files.context.flags.provider.reload()
        guard try store.stage() == .off else {
            throw HabitStoreError(.internalInconsistency, "the kill switch left the user at \(try store.stage())")
        }
        Thread.sleep(forTimeInterval: Double.random(in: 0...0.02, using: &generator))
        try FileManager.default.removeItem(atPath: sentinel)
        store.files.context.flags.provider.reload()
        // Another process that has not yet noticed that the sentinel file is gone may set the latch once more.
        for _ in 0..<1_000 {
            _ = try store.files.context.flags.killSwitch.rearm()
            do {
                try store.rearm(by: "traffic")
            } catch let error as HabitStoreError where error.code == .unsupported {
                continue
            }
            if store.files.leases.load()?.actual.state.isKilled == false { return }
            Thread.sleep(forTimeInterval: 0.005)
        }
        throw HabitStoreError(.busy, "the user could not be re-armed")
    }
}
