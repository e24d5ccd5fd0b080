import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging
import Synchronization

/// The flags that all users of a root share, with a number that changes whenever they may have.
final class FlagWatch: Sendable {
    /// Counts changes. It is a class of its own because the provider needs it before this exists.
    final class Revision: Sendable {
        let number = Atomic<Int>(1)
    }

    let provider: FlagProvider
    let latch: KillLatch
    let counter: Revision
    private let ticker: Ticker?

    /// - Parameters:
    ///   - flags: the flag file; nil for none.
    ///   - isFollowing: whether the files are watched; else they are looked at when a user is opened or moved.
    ///   - recheckSeconds: how often rules are evaluated anew although no file has changed, for those that ask for the time.
    ///   - hooks: told of each evaluation for a user.
    ///   - onLook: is called now, whenever files have changed, and each time that rules may come out differently.
    init(
        root: String,
        flags: String?,
        isFollowing: Bool,
        recheckSeconds: Double,
        logger: Logger,
        hooks: [FlagExposureHook] = [],
        onLook: @escaping @Sendable () -> Void = {}
    ) throws {
        let counter = Revision()
        self.counter = counter
        latch = KillLatch(root: root)
        provider = try FlagProvider(
            sources: flags.map { [FlagSource(path: $0)] } ?? [],
            killSwitch: KillSwitchTriggers(
                flagKey: RolloutFlags.kill,
                sentinelPath: RolloutFlags.sentinelPath(root: root)
            ),
            logger: logger,
            hooks: hooks
        ) { _ in
            counter.number.add(1, ordering: .releasing)
            onLook()
        }
        ticker =
            isFollowing
            ? Ticker(everySeconds: recheckSeconds) {
                counter.number.add(1, ordering: .releasing)
                onLook()
            } : nil
        if isFollowing { provider.startWatching() }
        onLook()
    }

    /// Another number than before when a flag, the sentinel file or the time may have changed. Costs one atomic load.
    var revision: Int { counter.number.load(ordering: .acquiring) }

    /// Looks at the files now, where they may have changed. Whoever is about to move a user does this first: the process may have
    /// been stopped for an hour, and then what it remembers would undo what was done meanwhile.
    func refresh() { provider.refresh() }

    /// What the flags want for a user, in one state of the files. Exposure hooks are told of it.
    func wanted(for context: EvaluationContext, _ engines: Engines) -> WantedStage {
        WantedStage(provider.snapshot, context, engines) { provider.tellHooks($0, context, $1) }
    }

    /// What tells these flag files, as they are now, from others and from what they were: 16 hexadecimal digits.
    var identity: String {
        var text = ""
        for source in provider.state.sources {
            var status = stat()
            let isThere = stat(source.source.path, &status) == 0
            #if canImport(Darwin)
            let changed = status.st_mtimespec
            #else
            let changed = status.st_mtim
            #endif
            text += "\(source.digest ?? "") \(isThere ? "\(changed.tv_sec).\(changed.tv_nsec)" : "")\n"
        }
        let hash = Array(text.utf8).withUnsafeBytes { XXHash64.hash($0, seed: 0) }
        return String(repeating: "0", count: hash.leadingZeroBitCount / 4) + (hash == 0 ? "" : String(hash, radix: 16))
    }

    /// What a user's state remembers of a flag file that has put the user on another engine directly.
    var directTurn: String { "direct-" + identity }

    /// Why the flags in force are not what the files say now, one line each.
    var notes: [String] {
        provider.state.sources.compactMap { source in
            source.error.map { "the flag file changes nothing: \($0)" }
        }
    }
}
