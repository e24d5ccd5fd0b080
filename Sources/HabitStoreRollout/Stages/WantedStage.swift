import FeatureFlags
import HabitStore

/// What the flag file proposes for a user.
struct WantedStage: Sendable, Equatable {
    /// The stage; nil where the file says nothing, and the user stays.
    var stage: Stage?
    /// The engine that users come from, and the one that they go to.
    var engines: EnginePair
    /// Whether the user is to go there directly, see ``RolloutFlags/backend``.
    var isDirect = false
    /// Whether a percentage decided. Changed weights move many users at once that nobody has looked at: such a proposal
    /// takes nobody back.
    var isBucketed = false
    /// Why the file changes nothing.
    var notes: [String] = []

    /// The engine that would serve at the stage; nil where the file says nothing.
    var engine: EngineName? { stage.map { $0.authority == .old ? engines.old : engines.new } }

    /// Reads the flags.
    ///
    /// - Parameters:
    ///   - known: the engines that this program has: the first two, where the flags name none.
    ///   - onResolution: is told what each flag that there is came to.
    init(
        _ flags: FlagSnapshot,
        _ context: EvaluationContext,
        _ known: Engines,
        onResolution: (String, Resolution) -> Void = { _, _ in }
    ) {
        var notes: [String] = []
        engines = known.pair()
        do throws(Unusable) {
            func engine(_ key: String) throws(Unusable) -> EngineName? {
                try Self.engine(key, flags, context, known, onResolution)
            }
            if let old = try engine(RolloutFlags.old) { engines = known.pair(old: old) }
            if let new = try engine(RolloutFlags.new) {
                guard new != engines.old else {
                    throw Unusable(
                        text: "\(RolloutFlags.old) and \(RolloutFlags.new) name the same engine, \(new.rawValue)"
                    )
                }
                engines.new = new
            }
            let backend = try engine(RolloutFlags.backend)
            if let backend, !engines.contains(backend) {
                throw Unusable(
                    text:
                        "\(RolloutFlags.backend) names \(backend.rawValue), and the engines are \(engines.old.rawValue) "
                        + "and \(engines.new.rawValue)"
                )
            }
            let proposed = try Self.value(RolloutFlags.stage, flags, context, onResolution)
            if backend == engines.new {
                (stage, isDirect) = (.complete, true)
            } else if let proposed {
                guard let named = Stage(rawValue: proposed) else {
                    let names = Stage.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Unusable(text: "the value of \(RolloutFlags.stage) is no stage (\(names))")
                }
                stage = named
                isBucketed = flags.explain(RolloutFlags.stage, context: context).steps.contains { $0.fractional != nil }
                // Both say the old engine: whoever was put on the new one directly comes back the same way.
                isDirect = named == .off && backend == engines.old && !isBucketed
            } else if backend != nil {
                (stage, isDirect) = (.off, true)
            } else if flags.resolve(RolloutFlags.stage, context: context).errorCode == .flagNotFound,
                flags.resolve(RolloutFlags.backend, context: context).errorCode == .flagNotFound
            {
                notes.append(
                    "the flag file changes nothing: it has neither \(RolloutFlags.stage) nor \(RolloutFlags.backend)"
                )
            }
        } catch {
            stage = nil
            notes.append("the flag file changes nothing: \(error.text)")
        }
        self.notes = notes
    }

    private struct Unusable: Error {
        let text: String
    }

    /// The text that a flag gives; nil where there is no such flag, or it is switched off.
    private static func value(
        _ key: String,
        _ flags: FlagSnapshot,
        _ context: EvaluationContext,
        _ onResolution: (String, Resolution) -> Void
    ) throws(Unusable) -> String? {
        // Most files have few of the flags, and each opening of a user asks for all.
        guard flags.contains(key) else { return nil }
        let resolution = flags.resolve(key, context: context)
        onResolution(key, resolution)
        if resolution.errorCode == .flagNotFound || resolution.errorCode == .providerNotReady { return nil }
        if let code = resolution.errorCode {
            throw Unusable(text: "\(key): \(resolution.errorMessage ?? code.rawValue)")
        }
        guard let value = resolution.value else { return nil }
        guard case .string(let text) = value else {
            throw Unusable(
                text: "the value of \(key) is no text\(key == RolloutFlags.stage ? "" : ", and is no engine")"
            )
        }
        return text
    }

    private static func engine(
        _ key: String,
        _ flags: FlagSnapshot,
        _ context: EvaluationContext,
        _ known: Engines,
        _ onResolution: (String, Resolution) -> Void
    ) throws(Unusable) -> EngineName? {
        guard let name = try value(key, flags, context, onResolution) else { return nil }
        guard let engine = EngineName(rawValue: name), known.contains(engine) else {
            let names = known.names.map(\.rawValue).joined(separator: " or ")
            throw Unusable(text: "the value of \(key) is no engine (\(names))")
        }
        return engine
    }
}
