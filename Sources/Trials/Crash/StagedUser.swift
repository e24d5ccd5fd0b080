import Foundation
import HabitStore
import HabitStoreRollout
import Logging
import StandardEngines

/// The user whose stages are moved, as one process sees the stores.
struct StagedUser {
    let flags: StageFlags
    let stores: UserStores
    let store: UserStore

    /// How often the gate is asked before a move forward is given up.
    private static let tries = 20

    init(root: String, flags: StageFlags) throws {
        self.flags = flags
        stores = try UserStores(root: root, flags: flags.path, options: Self.options)
        store = try stores.store(for: Workload.user)
    }

    /// A policy that asks for little, and waits that are short: what is tested is the order of the steps.
    private static var options: RolloutOptions {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 3
        options.mirror.waitSeconds = 0.05
        options.mirror.copyChunk = 8
        options.mirror.copyPauseSeconds = 0.001
        options.mirror.retrySeconds = 0.005
        options.mirror.longestRetrySeconds = 0.05
        options.logger = Logger(label: "crash") { _ in SwiftLogNoOpLogHandler() }
        return options
    }

    /// One step forward, by the gate.
    ///
    /// - Returns: whether the user is there.
    func goForward() throws -> Bool {
        guard let next = try store.stage().next else { return true }
        try flags.want(next)
        stores.reloadFlags()
        for _ in 0..<Self.tries {
            // What the gate asks for beside verifications: reads that are compared.
            for _ in 0..<4 { _ = try store.read { try $0.fetchCount(FetchDescriptor<Draft>()) } }
            if try store.advance(to: next)?.isOpen == true { return true }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return false
    }

    /// One step back, as the flags want it or by hand.
    func goBack(byFlags: Bool) throws {
        let stage = try store.stage()
        guard stage > .off, let before = Stage.allCases.last(where: { $0 < stage }) else { return }
        guard byFlags, stage != .complete else { return try store.demote() }
        try flags.want(before)
        stores.reloadFlags()
        _ = try store.stage()
    }

    /// The kill switch, pulled by its flag.
    func kill() throws {
        try flags.want(try store.stage(), kill: true)
        stores.reloadFlags()
        _ = try store.stage()
    }

    /// Lets the user go forward again.
    func rearm() throws {
        try flags.want(.off)
        stores.reloadFlags()
        try store.rearm(by: "the sweep")
    }
}
