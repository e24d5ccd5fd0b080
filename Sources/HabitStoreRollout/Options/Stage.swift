import FeatureFlags
import HabitStore

/// A user's stage on the way from the old store to the new one, with the field's usual names.
///
/// | stage | reads from | shadow read | authoritative | mirrored to |
/// |---|---|---|---|---|
/// | `off` | old | — | old | — |
/// | `dualwrite` | old | — | old | new |
/// | `shadow` | old | new | old | new |
/// | `live` | new | old | new | old |
/// | `rampdown` | new | — | new | old |
/// | `complete` | new | — | new | — |
public enum Stage: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Only the old store is in use.
    case off
    /// Writes go to the new store too.
    case dualwrite
    /// Reads are compared with the new store.
    case shadow
    /// The new store serves, and reads are compared with the old one.
    case live
    /// The new store serves, and the old one is kept current.
    case rampdown
    /// Only the new store is in use.
    case complete

    /// The store that answers reads, and takes writes first-hand.
    public var authority: StoreSide { self < .live ? .old : .new }

    /// The store whose answers reads are compared with.
    public var shadow: StoreSide? { self == .shadow || self == .live ? authority.other : nil }

    /// The store that every write is replicated to.
    public var mirror: StoreSide? { self == .off || self == .complete ? nil : authority.other }

    /// Whether a write is acknowledged only when the mirror has it too.
    public var awaitsMirror: Bool { self == .live || self == .rampdown }

    /// The stage after this one on the way to the new store.
    public var next: Stage? { Self(position: position + 1) }

    /// The stage's place on the way: 0 for `off`, 5 for `complete`.
    public var position: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// The stage at a place on the way, or nil.
    package init?(position: Int) {
        guard Self.allCases.indices.contains(position) else { return nil }
        self = Self.allCases[position]
    }

    /// Earlier stages first.
    public static func < (left: Stage, right: Stage) -> Bool { left.position < right.position }
}

/// One of a user's two stores, by its role in the rollout.
public enum StoreSide: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// The store that the user comes from.
    case old
    /// The store that the user moves to.
    case new

    /// The other store.
    public var other: StoreSide { self == .old ? .new : .old }
}

/// Which part of the flags' rules put a user where the user is, or has confirmed it since.
///
/// A user whom a rule placed goes back when the rule does not name the user any more. A percentage whose weights or bucketing changed
/// moves back no user whom a percentage placed.
enum Placement: String, Sendable, Hashable, Codable {
    /// A list, a condition or a default, which do not depend on the user's bucket.
    case rule
    /// A percentage, or a rule that may be one.
    case percentage

    init(isBucketed: Bool) { self = isBucketed ? .percentage : .rule }
}

/// Why a user moved to another stage.
public enum StageChangeReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// An operator or the app asked for the next stage, and the gate was open.
    case promoted
    /// An operator or the app asked for an earlier stage.
    case demoted
    /// The flag file wants this stage.
    case followedFlags
    /// The kill switch.
    case killed
    /// A difference between the stores.
    case differenceFound
    /// The flag file names the other engine.
    case toggled
    /// A move that a crash had interrupted was finished or undone.
    case recovered
    /// The kill switch was armed again.
    case rearmed
}

/// The flags' proposal for a user.
struct WantedStage: Sendable, Equatable {
    /// The stage; nil if the flags name none, and the user stays.
    var stage: Stage?
    /// The engine that users come from, and the one that they move to.
    var engines: EnginePair
    /// Whether to move the user there directly, see ``RolloutFlags/backend``.
    var isDirect = false
    /// Whether a percentage decided, or may have. Changed weights would move many users together, so such a proposal takes back no user whom a
    /// percentage placed.
    var isBucketed = false
    /// The same for ``RolloutFlags/backend``, if it names the old engine and so leads back directly.
    var isBackendBucketed = false
    /// How the roles of the engines were decided: ``Placement/percentage``, or nil for anything else.
    var pairedBy: Placement?
    /// Why the flags change nothing.
    var notes: [String] = []
    /// Whether the flags gave an answer; otherwise ``engines`` means nothing.
    var isAnswered = true
    /// The key of the flag that names the engine that users come from.
    let oldKey: String

    /// The engine that serves at the stage; nil if the flags name no stage.
    var engine: EngineName? { stage.map { $0.authority == .old ? engines.old : engines.new } }

    /// How the stage was decided.
    var placement: Placement { Placement(isBucketed: isBucketed) }

    /// Reads the flags.
    ///
    /// - Parameters:
    ///   - known: the engines of this program; the first two are used if the flags name none.
    ///   - keys: the flags' keys.
    ///   - onResolution: receives the resolution of each existing flag.
    init(
        _ answers: some FlagAnswers,
        _ known: Engines,
        keys: RolloutFlagKeys = .standard,
        onResolution: @escaping (String, Resolution) -> Void = { _, _ in }
    ) {
        engines = known.pair()
        oldKey = keys.old
        let reader = Reader(answers: answers, keys: keys, known: known, onResolution: onResolution)
        do throws(Unusable) {
            if let failure = answers.failure {
                isAnswered = false
                throw Unusable(text: failure)
            }
            try reader.read(&engines)
            pairedBy = reader.isPairBucketed ? .percentage : nil
            try take(try reader.backend(of: engines), try reader.value(keys.stage), reader)
        } catch {
            stage = nil
            notes = ["\(answers.source) changes nothing: \(error.text)"]
        }
    }

    private mutating func take(_ backend: EngineName?, _ proposed: String?, _ reader: Reader) throws(Unusable) {
        if backend == engines.new {
            (stage, isDirect, isBucketed) = (.complete, true, reader.isBackendBucketed)
        } else if let proposed {
            let named = try reader.stage(proposed)
            stage = named
            isBucketed = reader.isStageBucketed
            // If both name the old engine, a user who was put directly on the new one comes back directly.
            isDirect = named == .off && backend == engines.old
            isBackendBucketed = isDirect && reader.isBackendBucketed
        } else if backend != nil {
            (stage, isDirect, isBucketed) = (.off, true, reader.isBackendBucketed)
        } else if reader.isSilent {
            throw Unusable(text: "it has neither \(reader.keys.stage) nor \(reader.keys.backend)")
        }
    }

    private struct Unusable: Error {
        let text: String
    }

    /// Reads single flags.
    private struct Reader {
        let answers: any FlagAnswers
        let keys: RolloutFlagKeys
        let known: Engines
        let onResolution: (String, Resolution) -> Void

        var isStageBucketed: Bool { answers.isBucketed(keys.stage) }
        var isBackendBucketed: Bool { answers.isBucketed(keys.backend) }
        var isPairBucketed: Bool { answers.isBucketed(keys.old) || answers.isBucketed(keys.new) }

        /// Whether both flags that move users are missing.
        var isSilent: Bool { answers.isMissing(keys.stage) && answers.isMissing(keys.backend) }

        func read(_ engines: inout EnginePair) throws(Unusable) {
            if let old = try engine(keys.old) { engines = known.pair(old: old) }
            if let new = try engine(keys.new) {
                guard new != engines.old else {
                    throw Unusable(text: "\(keys.old) and \(keys.new) name the same engine, \(new.rawValue)")
                }
                engines.new = new
            }
        }

        func backend(of engines: EnginePair) throws(Unusable) -> EngineName? {
            guard let backend = try engine(keys.backend) else { return nil }
            if engines.contains(backend) { return backend }
            throw Unusable(
                text: "\(keys.backend) names \(backend.rawValue), and the engines are \(engines.old.rawValue) "
                    + "and \(engines.new.rawValue)"
            )
        }

        func stage(_ text: String) throws(Unusable) -> Stage {
            guard let stage = Stage(rawValue: text) else {
                let names = Stage.allCases.map(\.rawValue).joined(separator: ", ")
                throw Unusable(text: "the value of \(keys.stage) is not a stage (\(names))")
            }
            return stage
        }

        /// The text of a flag; nil if there is no such flag, or it is disabled.
        func value(_ key: String) throws(Unusable) -> String? {
            guard let resolution = answers.resolution(key) else { return nil }
            onResolution(key, resolution)
            if resolution.errorCode == .flagNotFound || resolution.errorCode == .providerNotReady { return nil }
            if let code = resolution.errorCode {
                throw Unusable(text: "\(key): \(resolution.errorMessage ?? code.rawValue)")
            }
            guard let value = resolution.value else { return nil }
            guard case .string(let text) = value else {
                let purpose = key == keys.stage ? "" : ", and is not an engine"
                throw Unusable(text: "the value of \(key) is not a string\(purpose)")
            }
            return text
        }

        private func engine(_ key: String) throws(Unusable) -> EngineName? {
            guard let name = try value(key) else { return nil }
            guard let engine = EngineName(rawValue: name), known.contains(engine) else {
                let names = known.names.map(\.rawValue).joined(separator: " or ")
                throw Unusable(text: "the value of \(key) is not an engine (\(names))")
            }
            return engine
        }
    }
}

/// The keys of the flags of one rollout: those of ``RolloutFlags``, or those of a named store.
package struct RolloutFlagKeys: Sendable, Hashable {
    /// The keys for stores without a name.
    package static let standard = RolloutFlagKeys(prefix: "habit-store")

    /// See ``RolloutFlags/stage``.
    package let stage: String
    /// See ``RolloutFlags/old``.
    package let old: String
    /// See ``RolloutFlags/new``.
    package let new: String
    /// See ``RolloutFlags/kill``.
    package let kill: String
    /// See ``RolloutFlags/backend``.
    package let backend: String

    init(prefix: String) {
        stage = prefix + "-stage"
        old = prefix + "-old"
        new = prefix + "-new"
        kill = prefix + "-kill"
        backend = prefix + "-backend"
    }

    /// All keys, the kill flag first.
    var all: [String] { [kill, old, new, backend, stage] }
}

/// The flags of a rollout, and the files next to the flag file that take part in it.
public enum RolloutFlags {
    /// The stage that a user should be at.
    public static let stage = "habit-store-stage"
    /// The engine that users come from; SQLite if it is not set.
    public static let old = "habit-store-old"
    /// The engine that users move to; LMDB if it is not set.
    public static let new = "habit-store-new"
    /// Whether all users, or one user, go back immediately.
    public static let kill = "habit-store-kill"
    /// The engine that a user is put on directly: verified while writes wait, without the stages in between.
    public static let backend = "habit-store-backend"
    /// The name of the sentinel file under the root.
    public static let sentinelName = "habit-store.kill"

    /// The path of a root's sentinel file.
    public static func sentinelPath(root: String) -> String { root + "/" + sentinelName }
}

/// The flags' answers about one user, in one state of the flags.
protocol FlagAnswers {
    /// The name of the flags' source in notes.
    var source: String { get }
    /// Why the answers must not be acted on; nil if they may be.
    var failure: String? { get }
    /// The resolution of a flag; nil if there is no flag with this key.
    func resolution(_ key: String) -> Resolution?
    /// Whether the source could be read, and has no flag with this key.
    func isMissing(_ key: String) -> Bool
    /// Whether a percentage decided, or may have.
    func isBucketed(_ key: String) -> Bool
}

/// A flag file's answers about a user.
struct FileAnswers: FlagAnswers {
    let snapshot: FlagSnapshot
    let context: EvaluationContext

    var source: String { "the flag file" }
    /// The file's reader reports its errors; the last good flags stay in force.
    var failure: String? { nil }

    func resolution(_ key: String) -> Resolution? {
        // Most files have only a few of the flags, and every opening of a user reads them all.
        snapshot.contains(key) ? snapshot.resolve(key, context: context) : nil
    }

    func isMissing(_ key: String) -> Bool { snapshot.resolve(key, context: context).errorCode == .flagNotFound }

    func isBucketed(_ key: String) -> Bool {
        snapshot.explain(key, context: context).steps.contains { $0.fractional != nil }
    }
}
