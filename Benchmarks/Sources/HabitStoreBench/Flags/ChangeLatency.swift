import FeatureFlags
import Foundation
import Logging

/// The time from a change of a file to the first evaluation that sees it.
struct ChangeLatency {
    private let change: FlagFileChange
    private let files: ChangingFiles
    private let provider: FlagProvider

    /// After this time a change counts as not seen.
    private static let limit = Duration.seconds(5)
    /// Not measured: once they are done, watching has surely begun.
    private static let warmUpChanges = 20

    init(_ change: FlagFileChange, _ folder: URL) throws {
        self.change = change
        files = try ChangingFiles(change, folder)
        provider = try FlagProvider(
            sources: [FlagSource(path: files.flags)],
            killSwitch: KillSwitchTriggers(flagKey: "kill", sentinelPath: files.sentinel),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Returns the milliseconds that each change took.
    func measure(changes: Int) throws -> [Double] {
        provider.startWatching()
        let load = EvaluationLoad(provider)
        defer {
            load.stop()
            provider.stopWatching()
        }
        var times: [Double] = []
        for number in 1...(changes + Self.warmUpChanges) {
            try files.prepare(number)
            // The preparation is noticed too, and changes arrive at random times.
            usleep(UInt32.random(in: 1000...4000))
            let start = try files.apply(number)
            try wait(since: start) { isSeen(number) }
            let duration = ContinuousClock.now - start
            if number > Self.warmUpChanges { times.append(duration / .milliseconds(1)) }
            try files.finish(number)
            if change == .sentinel { try wait(since: .now) { !isSeen(number) } }
        }
        return times
    }

    private func isSeen(_ number: Int) -> Bool {
        change == .sentinel
            ? provider.killSignal() != nil
            : provider.int("number", default: -1).value == Int64(number)
    }

    /// Evaluates as fast as possible until the condition holds, and yields in between.
    private func wait(since start: ContinuousClock.Instant, until condition: () -> Bool) throws {
        while !condition() {
            guard ContinuousClock.now - start < Self.limit else {
                throw BenchError("\(change.rawValue): not seen within \(Self.limit)")
            }
            sched_yield()
        }
    }
}
