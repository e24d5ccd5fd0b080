import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging

/// The settings for all users in the files of a root: the kill switch's triggers and record, and the flag file's engines. Reads no store and no user.
package struct RootSwitches: Sendable, Hashable {
    /// A file whose existence is a signal.
    package struct Marker: Sendable, Hashable {
        /// When the file was written; nil if unknown.
        package let since: Date?
        /// The file's text, for people.
        package let text: String
    }

    /// The sentinel file; nil if there is none.
    package let sentinel: Marker?
    /// The record that the switch was pulled for all users, until a person re-arms it; nil if there is none.
    package let latch: Marker?
    /// Whether the kill flag is true for a user without attributes; nil if there is no readable flag file.
    package let isFlagPulled: Bool?
    /// The engine that the flags move a user without attributes to; nil if they name none.
    package let newEngine: String?
    /// Why the flags in force differ from the file.
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

    /// The paths of all files that this reads.
    package static func paths(_ place: StoreRoot, flags: String?) -> [String] {
        place.killRoots.flatMap { [RolloutFlags.sentinelPath(root: $0), latchPath(root: $0)] }
            + (flags.map { [$0] } ?? [])
    }

    private static func latchPath(root: String) -> String { KillLatch(root: root).path }

    /// The first of the files that exists.
    private static func marker(_ place: StoreRoot, _ path: (String) -> String) -> Marker? {
        place.killRoots.compactMap { marker(path($0)) }.first
    }

    private static func marker(_ path: String) -> Marker? {
        var status = stat()
        // A file that cannot be checked counts as present, as it does for the rollout.
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
