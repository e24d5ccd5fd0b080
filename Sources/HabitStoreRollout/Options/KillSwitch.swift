import DurableFiles
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging

/// The kill switch of the stores under a root.
///
/// The kill flag pulls it for the users for whom it is true, and the sentinel file for all users. A latch next to the sentinel file keeps the kill of
/// all users in force until a person re-arms it. Named stores also obey the outer root's sentinel file and latch. For both files only existence
/// counts, and a file that cannot be checked exists.
public struct KillSwitch: Sendable, Hashable {
    /// The switch, as pulled for a user.
    struct Pull: Sendable {
        let text: String
        /// The root whose sentinel file pulls it for all users, which a latch has to record; nil if it concerns single users, or is already recorded.
        var root: String?
    }

    private let place: StoreRoot

    package init(_ place: StoreRoot) { self.place = place }

    // MARK: The files

    /// The roots whose sentinel file and latch apply, the stores' own first.
    var roots: [String] { place.name == nil ? [place.root] : [place.path, place.root] }

    /// The paths of the sentinel files and latches.
    package var paths: [String] { roots.flatMap { [RolloutFlags.sentinelPath(root: $0), Self.latchPath(root: $0)] } }

    /// The paths at which there is a file. Does not see a kill by the flag alone.
    package var presentFiles: [String] { paths.filter(Self.exists) }

    /// Whether a file holds back all users: two `lstat` calls per root.
    package var isEngaged: Bool { paths.contains(where: Self.exists) }

    /// The first latch that is set; nil if there is none.
    var latched: String? { roots.lazy.map(Self.latchPath).first(where: Self.exists) }

    private static func latchPath(root: String) -> String { root + "/habit-store.killed" }

    /// Whether there is a file; one that cannot be checked exists.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno != ENOENT && errno != ENOTDIR
    }

    // MARK: Pulling and re-arming

    /// Pulls it for all users with the sentinel file. Processes with open stores react to it.
    ///
    /// - Returns: whether the file is new.
    /// - Throws: a `FlagError` if it cannot be created; no user is killed then.
    package func pull() throws -> Bool {
        try SentinelFile(path: RolloutFlags.sentinelPath(root: place.path)).create()
    }

    /// Whether a root's latch is set.
    func isLatched(_ root: String) -> Bool { Self.exists(Self.latchPath(root: root)) }

    /// Sets a root's latch, with what pulled the switch.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` or ``HabitStoreError/Code/full`` if it cannot be made durable.
    func latch(_ root: String, by trigger: String) throws {
        try Self.mappingErrors { () throws(FileFailure) in
            try MarkerFile.make(Self.latchPath(root: root), trigger + "\n")
        }
    }

    /// Removes the stores' own latch.
    ///
    /// - Returns: whether it was set.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while a sentinel file exists, or the outer root is not re-armed; system errors.
    func rearm() throws -> Bool {
        try requireNoSentinel(place.path)
        try requireOuterRearmed()
        return try Self.mappingErrors { () throws(FileFailure) in
            try DurableFile.remove(Self.latchPath(root: place.path))
        }
    }

    /// Checks that the outer root's switch, which named stores also obey, is re-armed.
    ///
    /// - Throws: the errors of ``rearm()``.
    package func requireOuterRearmed() throws {
        for root in roots.dropFirst() {
            try requireNoSentinel(root)
            guard isLatched(root) else { continue }
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for all stores under the root; re-arm the root first, without the store's name",
                at: .init(path: Self.latchPath(root: root))
            )
        }
    }

    private func requireNoSentinel(_ root: String) throws {
        let path = RolloutFlags.sentinelPath(root: root)
        guard Self.exists(path) else { return }
        throw HabitStoreError(
            .unsupported,
            "the sentinel file still pulls the kill switch; remove it first",
            at: .init(path: path)
        )
    }

    @discardableResult
    private static func mappingErrors(_ body: () throws(FileFailure) -> Bool) throws -> Bool {
        do {
            return try body()
        } catch {
            throw HabitStoreError(
                error.number == ENOSPC ? .full : .inputOutput,
                "the file that remembers the kill switch \(error)",
                at: .init(path: error.path)
            )
        }
    }
}

extension KillSwitch {
    /// The state of the switch for all users, from its files alone: it needs neither an index nor a store.
    public struct State: Sendable, Hashable {
        /// Whether the sentinel file exists, which takes all users back.
        public let isSentinelThere: Bool
        /// Whether the kill flag is true for all users; nil without a flag file.
        public let isFlagPulled: Bool?
        /// Whether the root's latch records that all users were killed, until it is re-armed.
        public let isLatched: Bool
        /// When it was first pulled, by these files; nil if none says so.
        public let since: Date?
        /// The trigger that the latch records.
        public let trigger: String?
        /// Why the flags in effect differ from the flag file.
        public let notes: [String]
        /// The engine that the flags move a user without attributes to; nil if they name none.
        package let newEngine: String?

        /// Whether it is pulled, or was pulled and not re-armed since.
        public var isPulled: Bool { isSentinelThere || isFlagPulled == true || isLatched }
    }

    /// Reads the files.
    ///
    /// - Parameter flags: the flag file; nil for none.
    package func state(flags: String?) -> State {
        let sentinel = roots.map { RolloutFlags.sentinelPath(root: $0) }.first(where: Self.exists)
        let latch = latched
        var quiet = Logger(label: "feature-flags")
        quiet.logLevel = .critical
        let provider = flags.flatMap { [place] path in
            try? FlagProvider(
                sources: [FlagSource(path: path)],
                killSwitch: KillSwitchTriggers(flagKey: place.flags.kill),
                logger: quiet
            )
        }
        let engine = provider?.resolve(place.flags.new, as: .string, context: EvaluationContext())
        return State(
            isSentinelThere: sentinel != nil,
            isFlagPulled: provider.map { $0.killSignal() != nil },
            isLatched: latch != nil,
            since: [sentinel, latch].compactMap { $0.flatMap { Self.attribute(.modificationDate, $0) } }.min(),
            trigger: latch.flatMap(Self.text),
            notes: provider?.notes ?? [],
            newEngine: engine?.value?.stringValue
        )
    }

    private static func attribute<T>(_ key: FileAttributeKey, _ path: String) -> T? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[key] as? T
    }

    /// The text of a file; nil if it has none.
    private static func text(_ path: String) -> String? {
        guard attribute(.type, path) == FileAttributeType.typeRegular,
            let bytes = FileManager.default.contents(atPath: path)
        else { return nil }
        let text = String(decoding: bytes.prefix(1_024), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}

extension FlagProvider {
    /// Why the flags in force differ from the files, one line each.
    var notes: [String] {
        state.sources.compactMap { source in source.error.map { "the flag file changes nothing: \($0)" } }
    }
}

extension FlagWatch {
    /// The kill switch that is pulled for the user, as far as this process knows, or was pulled for all users and not re-armed. Does not ask the
    /// provider if a file decides.
    func pulledKill(for subject: FlagSubject) -> KillSwitch.Pull? {
        if let sentinel { return KillSwitch.Pull(text: sentinel.signal.description, root: sentinel.root) }
        if provided == nil, let signal = flagSignal(for: subject) {
            // The sentinel file may have appeared since the check above.
            if case .sentinel = signal { return KillSwitch.Pull(text: signal.description, root: killSwitch.roots[0]) }
            return KillSwitch.Pull(text: signal.description)
        }
        if let latch = killSwitch.latched {
            return KillSwitch.Pull(text: "the kill switch was pulled for everybody and not re-armed (\(latch))")
        }
        return provided == nil ? nil : flagSignal(for: subject).map { KillSwitch.Pull(text: $0.description) }
    }

    /// The first sentinel file that exists, as far as this process knows, and its root.
    var sentinel: (root: String, signal: KillSignal)? {
        for (root, provider) in zip(killSwitch.roots, providers) {
            guard let sentinel = provider.sentinel, sentinel.isPresent else { continue }
            return (root, .sentinel(path: sentinel.path))
        }
        return nil
    }

    /// The kill flag, if it is true for a user.
    private func flagSignal(for subject: FlagSubject) -> KillSignal? {
        guard provided != nil else { return provider.killSignal(context: subject.context) }
        return answers(for: subject)?.killVariant.map { .flag(key: keys.kill, variant: $0) }
    }

    /// - Throws: ``HabitStoreError/Code/unsupported`` while the kill switch is pulled, or a provider does not say whether it is; the message says
    ///   what to do.
    func requireNoKill(for subject: FlagSubject) throws {
        refresh(for: subject)
        if let signal = sentinel?.signal ?? flagSignal(for: subject) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        if let answers = answers(for: subject), let failure = answers.failure {
            throw HabitStoreError(
                .unsupported,
                "it is unknown whether the kill switch is still pulled: \(answers.source): \(failure); re-arm once it answers"
            )
        }
        if let latch = killSwitch.latched {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for everybody; re-arm the whole root first",
                at: .init(path: latch)
            )
        }
    }
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
