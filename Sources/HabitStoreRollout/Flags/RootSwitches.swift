import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging

/// What the files of a root say to everybody: the kill switch's triggers and memory, and the engines of the flag file. No store and no
/// user is looked at.
package struct RootSwitches: Sendable, Hashable {
    /// A file whose existence is the signal.
    package struct Marker: Sendable, Hashable {
        /// When it was made; nil where that cannot be told.
        package let since: Date?
        /// What is written in it, for people.
        package let text: String
    }

    /// The sentinel file; nil where there is none.
    package let sentinel: Marker?
    /// The memory that the switch was pulled for everybody, until somebody re-arms; nil where it was not.
    package let latch: Marker?
    /// Whether the kill flag is true for somebody of whom nothing is known; nil where there is no flag file.
    package let isFlagPulled: Bool?
    /// The engine that users go to, for somebody of whom nothing is known; nil where the flags do not say.
    package let newEngine: String?
    /// Why the flags in force are not what the file says.
    package let notes: [String]

    /// Reads the files.
    ///
    /// - Parameter flags: the flag file; nil for none.
    package init(_ place: StoreRoot, flags: String?) {
        sentinel = Self.marker(place, RolloutFlags.sentinelPath)
        latch = Self.marker(place, Self.latchPath)
        var quiet = Logger(label: "feature-flags")
        quiet.logLevel = .critical
        guard let flags,
            let provider = try? FlagProvider(
                sources: [FlagSource(path: flags)],
                killSwitch: KillSwitchTriggers(flagKey: place.flags.kill),
                logger: quiet
            )
        else {
            (isFlagPulled, newEngine, notes) = (nil, nil, [])
            return
        }
        isFlagPulled = provider.killSignal() != nil
        newEngine = provider.resolve(place.flags.new, as: .string, context: EvaluationContext()).value?.stringValue
        notes = provider.state.sources.compactMap { source in
            source.error.map { "the flag file changes nothing: \($0)" }
        }
    }

    /// The files that all of it is read from.
    package static func paths(_ place: StoreRoot, flags: String?) -> [String] {
        place.killRoots.flatMap { [RolloutFlags.sentinelPath(root: $0), latchPath(root: $0)] }
            + (flags.map { [$0] } ?? [])
    }

    private static func latchPath(root: String) -> String { KillLatch(root: root).path }

    /// The first of them that there is.
    private static func marker(_ place: StoreRoot, _ path: (String) -> String) -> Marker? {
        place.killRoots.compactMap { marker(path($0)) }.first
    }

    private static func marker(_ path: String) -> Marker? {
        var status = stat()
        // What cannot be looked at counts, as it does for whoever acts on it.
        guard lstat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? nil : Marker(since: nil, text: "")
        }
        #if canImport(Darwin)
        let changed = status.st_mtimespec
        #else
        let changed = status.st_mtim
        #endif
        let isFile = status.st_mode & S_IFMT == S_IFREG
        let text =
            isFile
            ? FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(1_024), as: UTF8.self) } : nil
        return Marker(
            since: Date(timeIntervalSince1970: Double(changed.tv_sec) + Double(changed.tv_nsec) / 1e9),
            text: (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        )
    }
}
