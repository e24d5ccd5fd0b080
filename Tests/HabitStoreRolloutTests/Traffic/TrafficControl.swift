import Foundation
import HabitStore
import HabitStoreTesting

@testable import HabitStoreRollout

/// Moves a user up and down the stages at random and pulls the kill switch, while other processes use the stores.
///
/// The gate is not asked: what it would let through is another test's matter, and here the user is to be moved often.
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

    /// Some moves, and then the kill switch, until the user is back; and the way forward is free again.
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
            // A kill passes by a mover that does not get on, and took the user back; a run of 200 pulls ended here.
        }
    }

    /// Waits for the new store to be filled, by whichever process: no gate lets anybody onto an unfinished copy.
    ///
    /// A run ended in its first moves, since the mirror had failed for the moment, and the user was moved all the same. A process
    /// that saw the kill switch late may take the user back meanwhile; nobody is to wait for that stage's mirror then.
    private func fillMirror(at here: Stage) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try store.stage() == here, let mirror = store.files.leases.load()?.mirror, !mirror.settle(waitSeconds: 1)
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
        // Another process that has not seen yet that the sentinel file is gone may set the latch once more.
        for _ in 0..<1_000 {
            try store.files.context.flags.latch.clear()
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
