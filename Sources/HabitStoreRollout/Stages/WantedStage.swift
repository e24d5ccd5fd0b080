import FeatureFlags
import HabitStore

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
