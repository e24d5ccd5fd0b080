import DurableFiles
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

/// What holds back all users under a root: the kill switch's sentinel file, and the record that it was pulled. For both files, only existence counts.
package struct RootKill: Sendable {
    private let paths: [String]

    /// For all the roots that stores obey.
    package init(roots: [String]) {
        paths = roots.flatMap { [RolloutFlags.sentinelPath(root: $0), KillLatch(root: $0).path] }
    }

    /// Whether any of the files exists, or cannot be checked: two `lstat` calls per root. Does not see a kill by the flag alone.
    package var isEngaged: Bool {
        paths.contains { path in
            var status = stat()
            return lstat(path, &status) == 0 || errno != ENOENT && errno != ENOTDIR
        }
    }
}

/// Records under the root that the kill switch was pulled for all users, until a person re-arms it. Only the file's existence counts, as with the
/// sentinel file.
struct KillLatch: Sendable {
    private static let name = "habit-store.killed"

    let path: String

    init(root: String) { path = root + "/" + Self.name }

    /// Whether the kill switch was pulled and not re-armed since.
    var isSet: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Records the kill, and what pulled the switch.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` or ``HabitStoreError/Code/full`` if the file cannot be made durable.
    func set(by trigger: String) throws {
        do {
            _ = try MarkerFile.make(path, trigger + "\n")
        } catch {
            throw Self.error(error)
        }
    }

    /// Removes the record.
    func clear() throws {
        do {
            _ = try MarkerFile.remove(path)
        } catch {
            throw Self.error(error)
        }
    }

    private static func error(_ failure: FileFailure) -> HabitStoreError {
        HabitStoreError(
            failure.number == ENOSPC ? .full : .inputOutput,
            "the file that remembers the kill switch \(failure)",
            at: .init(path: failure.path)
        )
    }
}

/// A folder whose kill switch holds for all users in it: its sentinel file, and the record that it was pulled.
struct KillPlace: Sendable {
    /// Checks for the sentinel file, and reads the flag file if there is one.
    let files: FlagProvider
    let latch: KillLatch

    /// The sentinel file's path; nil if the file does not exist.
    var sentinel: String? { files.sentinel.flatMap { $0.isPresent ? $0.path : nil } }
}

/// The folder of all users' stores with one name: the root itself for stores without a name, `stores/NAME` for the others.
///
/// Each is a root like any other, with its users' folders and evidence, a fleet and a kill switch. Those with a name also obey the root's kill
/// switch.
package struct StoreRoot: Sendable, Hashable {
    private static let folderName = "stores"

    /// The root that all stores of a user have in common.
    package let root: String
    /// The name; nil for the stores without one.
    package let name: StoreName?

    /// The stores of a name under a root; nil for the stores without a name.
    package init(_ root: String, _ name: StoreName? = nil) { (self.root, self.name) = (root, name) }

    /// The same, from the name's text.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid store name.
    package init(_ root: String, named name: String?) throws { self.init(root, try name.map { try StoreName($0) }) }

    /// The root folder of these stores.
    package var path: String { name.map { "\(root)/\(Self.folderName)/\($0.text)" } ?? root }

    /// The roots whose kill switch applies, the stores' own first.
    package var killRoots: [String] { name == nil ? [root] : [path, root] }

    /// The keys of the flags.
    package var flags: RolloutFlagKeys { name.map { RolloutFlagKeys(prefix: "\($0.text)-store") } ?? .standard }

    /// All store roots under a root, the unnamed one first.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the root cannot be read.
    package static func all(under root: String) throws -> [StoreRoot] {
        let folder = "\(root)/\(folderName)"
        var status = stat()
        if lstat(folder, &status) != 0, errno == ENOENT || errno == ENOTDIR { return [StoreRoot(root)] }
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            return [StoreRoot(root)] + names.sorted().compactMap { try? StoreName($0) }.map { StoreRoot(root, $0) }
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the folder of the stores with names cannot be read",
                at: .init(path: folder),
                underlying: error
            )
        }
    }
}
