import Foundation
import HabitStore
import HabitStoreRollout
import Logging
import StandardEngines

/// The user of the tangle, as one process has the stores open.
struct TangleUser {
    let flags: StageFlags
    let stores: UserStores
    let store: UserStore

    /// How often the gate is asked before a move forward is given up.
    private static let tries = 6

    init(root: String, flags: StageFlags) throws {
        self.flags = flags
        stores = try Self.stores(root: root, flags: flags)
        store = try stores.store(for: TangleWorkload.user)
    }

    static func stores(root: String, flags: StageFlags) throws -> UserStores {
        try UserStores(root: root, flags: flags.path, options: options)
    }

    /// Short waits, so that a process which is stopped is waited for in vain; copies in small pieces, so that they take long.
    static var options: RolloutOptions {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 2
        options.lockWaitSeconds = 2
        options.stepLimitSeconds = 0.5
        options.mirror.waitSeconds = 0.05
        options.mirror.copyChunk = 25
        options.mirror.copyPauseSeconds = 0.002
        options.mirror.retrySeconds = 0.005
        options.mirror.longestRetrySeconds = 0.1
        options.logger = Logger(label: "tangle") { _ in SwiftLogNoOpLogHandler() }
        return options
    }

    /// One step forward, by the gate.
    ///
    /// - Returns: why not; nil when the user is there.
    func goForward(tries: Int = tries) throws -> String? {
        guard let next = try store.stage().next else { return nil }
        try flags.want(.init(stage: next))
        stores.reloadFlags()
        var missing = "nothing was decided"
        for _ in 0..<tries {
            // What the gate asks for beside verifications: reads that are compared.
            for _ in 0..<4 { _ = try store.read { try $0.fetchCount(FetchDescriptor<Draft>()) } }
            guard let decision = try store.advance(to: next) else { return nil }
            if decision.isOpen { return nil }
            missing = decision.reasons.map { "\($0)" }.joined(separator: "; ")
            Thread.sleep(forTimeInterval: 0.005)
        }
        return missing
    }

    /// One step back, by hand.
    func goBack() throws {
        guard try store.stage() > .off else { return }
        try store.demote()
    }

    /// One step back, as the flags want it.
    func goBackByFlags() throws {
        let stage = try store.stage()
        guard let before = Stage.allCases.last(where: { $0 < stage }) else { return }
        try flags.want(.init(stage: before))
        stores.reloadFlags()
        _ = try store.stage()
    }

    /// The kill switch, pulled by the flag of this process or for everybody.
    ///
    /// - Returns: whether the user is killed.
    func kill(sentinel: String?) throws -> Bool {
        if let sentinel {
            try Data().write(to: URL(fileURLWithPath: sentinel))
        } else {
            try flags.want(.init(isKilled: true))
        }
        stores.reloadFlags()
        return try store.land()
    }

    /// Lets the user go forward again.
    func rearm(sentinel: String) throws {
        try? FileManager.default.removeItem(atPath: sentinel)
        try flags.want(.init())
        stores.reloadFlags()
        try stores.rearmRoot()
        try store.rearm(by: "the sweep")
    }
}
