import Dispatch
import FeatureFlags
import Foundation
import HabitStore
import Logging
import Synchronization

/// An app's own source of the rollout's flags, such as a remote configuration or a feature flag service.
///
/// ```swift
/// struct RemoteFlags: RolloutFlagProvider {
///     let configuration: RemoteConfiguration
///
///     func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
///         guard let text = try configuration.value(of: key, for: context.targetingKey) else { return .missing(key) }
///         let value: FlagValue = type == .boolean ? .bool(text == "true") : .string(text)
///         return Resolution(value: value, variant: text, reason: .static)
///     }
/// }
///
/// let stores = try UserStores(
///     root: root, flags: .provider(RemoteFlags(configuration: configuration)), schema: HabitSchema.current
/// )
/// ```
///
/// Like a flag file, it only proposes. Errors, late or invalid answers, answers that may be out of date, and answers that change while they are read
/// move no user; the note says so. The kill switch's sentinel file works regardless of the provider. The requirement is the one of
/// ``FeatureFlags/FlagEvaluator``: a type that conforms to that only needs to declare the conformance.
public protocol RolloutFlagProvider: Sendable {
    /// The provider's name in notes and in the log.
    var name: String { get }

    /// Evaluates one of the flags of ``RolloutFlags`` for a user.
    ///
    /// Called from any thread, also concurrently, for all flags in a row: when a user is opened or moved, after ``watch(_:)`` has reported a change,
    /// and every ``RolloutOptions/recheckSeconds``. It should answer from memory: it has ``RolloutOptions/flagWaitSeconds`` for all flags together.
    /// It must not use the user's store.
    ///
    /// - Parameters:
    ///   - key: the flag's key.
    ///   - type: the expected type: a boolean for the kill flag, a string for the others.
    ///   - context: the user's id as the targeting key, and the attributes that the app gave with the user.
    /// - Returns: ``FeatureFlags/Resolution/missing(_:)`` if there is no such flag. A reason other than `STATIC` or `DEFAULT` may stand for a
    ///   percentage: such flags take no user back whom they placed with such a reason. The member `version` of the metadata identifies a state of the
    ///   flag, see <doc:FlagProviders>.
    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution

    /// Called once, before the first evaluation, with a closure to call whenever answers may have changed.
    func watch(_ onChange: @escaping @Sendable () -> Void)
}

extension RolloutFlagProvider {
    /// The type's name.
    public var name: String { "\(Self.self)" }

    /// Does nothing: changes are noticed every ``RolloutOptions/recheckSeconds``, and when a user is opened or moved.
    public func watch(_ onChange: @escaping @Sendable () -> Void) {}
}

extension Resolution {
    /// The answer of a provider that has no flag with this key.
    public static func missing(_ key: String) -> Resolution {
        Resolution(reason: .error, errorCode: .flagNotFound, errorMessage: "there is no flag \(key)")
    }
}

/// The rollout's flags from a provider with the interface of OpenFeature.
struct OpenFeatureFlags: RolloutFlagProvider {
    let name: String
    let client: any OpenFeatureEvaluating
    let listen: @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void

    func watch(_ onChange: @escaping @Sendable () -> Void) { listen(onChange) }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        guard type == .boolean else {
            // The default "" is not the name of a stage or an engine.
            return try client.getStringEvaluation(key: key, defaultValue: "", context: context)
                .resolution(default: "") { .string($0) }
        }
        return try client.getBooleanEvaluation(key: key, defaultValue: false, context: context)
            .resolution(default: false) { .bool($0) }
    }
}

extension FlagOrigin {
    /// Flags from a provider with the interface of OpenFeature.
    ///
    /// Each evaluation has the context of one user. A client of the Swift SDK has one context for the whole process, so wrap the SDK's *provider*
    /// instead.
    ///
    /// - Parameters:
    ///   - client: evaluates the flags for a user, within ``RolloutOptions/flagWaitSeconds``.
    ///   - name: its name in notes and in the log.
    ///   - listen: receives a closure to call whenever answers may have changed: on the provider's event `configurationChanged`.
    public static func openFeature(
        _ client: any OpenFeatureEvaluating,
        name: String = "OpenFeature",
        listen: @escaping @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void = { _ in }
    ) -> FlagOrigin {
        .provider(OpenFeatureFlags(name: name, client: client, listen: listen))
    }
}

/// Where the rollout's flags come from.
public struct FlagOrigin: Sendable {
    enum Kind: Sendable {
        case file(String)
        case provider(any RolloutFlagProvider)
    }

    let kind: Kind

    /// A flag file in flagd's format, JSON or YAML.
    public static func file(_ path: String) -> FlagOrigin { FlagOrigin(kind: .file(path)) }

    /// The app's own flag provider.
    public static func provider(_ provider: any RolloutFlagProvider) -> FlagOrigin {
        FlagOrigin(kind: .provider(provider))
    }

    /// The flag file's path; nil for a provider.
    var path: String? {
        guard case .file(let path) = kind else { return nil }
        return path
    }

    /// The provider; nil for a file.
    var provider: (any RolloutFlagProvider)? {
        guard case .provider(let provider) = kind else { return nil }
        return provider
    }
}

/// Asks an app's own provider for the flags. Shields callers from it: errors, invalid answers and timeouts become a failure, which moves no user.
final class ProvidedFlags: Sendable {
    /// How many calls may be overdue before the provider is no longer asked; each occupies a thread. It is asked again once one of them returns.
    static let mostOverdue = 8
    /// The longest error text to report.
    private static let textLength = 200

    /// A call, and its answers so far.
    private final class Question: Sendable {
        struct State {
            var answers: ProvidedAnswers?
            /// The kill flag's variant, if the flag is true.
            var killVariant: String?
            var isGivenUp = false
        }

        let state = Mutex(State())
        let done = DispatchSemaphore(value: 0)
    }

    private struct Unusable: Error {
        let text: String
    }

    private let provider: any RolloutFlagProvider
    private let keys: RolloutFlagKeys
    private let waitSeconds: Double
    private let logger: Logger
    private let overdue = Atomic<Int>(0)
    private let isFailing = Atomic<Bool>(false)

    /// - Parameter waitSeconds: the time limit for all flags of a user.
    init(_ provider: any RolloutFlagProvider, _ keys: RolloutFlagKeys, waitSeconds: Double, logger: Logger) {
        (self.provider, self.keys, self.waitSeconds, self.logger) = (provider, keys, waitSeconds, logger)
    }

    /// The provider's name in notes.
    var source: String { "the flag provider \(provider.name)" }

    /// The provider's answers about a user.
    ///
    /// - Parameter known: its previous answers. Changed answers must be given twice in a row, in case a change is under way.
    func ask(_ context: EvaluationContext, _ known: ProvidedAnswers?) -> ProvidedAnswers {
        let answers = bounded(context, known)
        if isFailing.exchange(answers.failure != nil, ordering: .relaxed) != (answers.failure != nil) {
            if let failure = answers.failure {
                logger.error("\(source) changes nothing: \(failure)")
            } else {
                logger.notice("\(source) answers again")
            }
        }
        return answers
    }

    /// Answers without asking the provider.
    func unasked(because text: String) -> ProvidedAnswers { ProvidedAnswers(source: source, failure: text) }

    private func bounded(_ context: EvaluationContext, _ known: ProvidedAnswers?) -> ProvidedAnswers {
        let left = overdue.load(ordering: .relaxed)
        guard left < Self.mostOverdue else {
            return unasked(because: "it has not answered \(left) earlier questions, and is not asked before it has")
        }
        let question = Question()
        StepThreads.shared.run { [self] in
            let answers = read(context, known, question)
            let isGivenUp = question.state.withLock { state in
                state.answers = answers
                return state.isGivenUp
            }
            if isGivenUp { overdue.subtract(1, ordering: .relaxed) }
            question.done.signal()
        }
        _ = question.done.wait(timeout: .now() + waitSeconds)
        return question.state.withLock { state in
            if let answers = state.answers { return answers }
            state.isGivenUp = true
            overdue.add(1, ordering: .relaxed)
            var answers = unasked(because: "it has not answered for \(waitSeconds) s")
            answers.killVariant = state.killVariant
            return answers
        }
    }

    private func read(
        _ context: EvaluationContext,
        _ known: ProvidedAnswers?,
        _ question: Question
    ) -> ProvidedAnswers {
        var answers = ProvidedAnswers(source: source)
        do throws(Unusable) {
            answers.resolutions = try resolutions(context, question)
            if known?.isEqual(to: answers) != true {
                let again = ProvidedAnswers(source: source, resolutions: try resolutions(context, question))
                guard answers.isEqual(to: again) else {
                    throw Unusable(text: "it has changed its answers while it gave them")
                }
            }
        } catch {
            answers = unasked(because: error.text)
        }
        answers.killVariant = question.state.withLock { $0.killVariant }
        return answers
    }

    private func resolutions(
        _ context: EvaluationContext,
        _ question: Question
    ) throws(Unusable) -> [String: Resolution] {
        var resolutions: [String: Resolution] = [:]
        for key in keys.all {
            let resolution: Resolution
            do {
                let type: FlagValueType = key == keys.kill ? .boolean : .string
                resolution = try provider.resolve(key, as: type, context: context)
            } catch {
                throw Unusable(text: "\(key): \(Self.line("\(error)"))")
            }
            if resolution.errorCode == .flagNotFound { continue }
            if let code = resolution.errorCode {
                throw Unusable(text: "\(key): \(Self.line(resolution.errorMessage ?? "")) [\(code)]")
            }
            if key == keys.kill { try noteKill(resolution, question) }
            resolutions[key] = resolution
            guard resolution.reason != .stale else {
                throw Unusable(text: "\(key): the answer may be out of date")
            }
        }
        return resolutions
    }

    private func noteKill(_ resolution: Resolution, _ question: Question) throws(Unusable) {
        guard let value = resolution.value else { return }
        guard let isKilled = value.boolValue else {
            throw Unusable(text: "the value of \(keys.kill) is neither true nor false")
        }
        if isKilled { question.state.withLock { $0.killVariant = resolution.variant ?? "" } }
    }

    private static func line(_ text: String) -> String {
        String(text.prefix(textLength)).split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

/// The answers of an app's own provider about a user: all flags of the rollout, asked for together.
struct ProvidedAnswers: FlagAnswers, Sendable {
    let source: String
    /// The flags that exist.
    var resolutions: [String: Resolution] = [:]
    var failure: String?
    /// The variant with which the kill flag is true; nil if it is false or unknown. It counts even if other flags fail.
    var killVariant: String?

    func resolution(_ key: String) -> Resolution? { resolutions[key] }

    func isMissing(_ key: String) -> Bool { failure == nil && resolutions[key] == nil }

    /// Only the provider knows whether its targeting uses percentages.
    func isBucketed(_ key: String) -> Bool {
        guard let reason = resolutions[key]?.reason else { return false }
        return reason != .static && reason != .default
    }

    /// Identifies these answers: their values, and their versions, if any.
    var identity: String {
        let flags = resolutions.sorted { $0.key < $1.key }.map { key, resolution in
            "\(key)=\(resolution.value.map { "\($0)" } ?? "") \(resolution.flagMetadata["version"].map { "\($0)" } ?? "")"
        }
        return ([source] + flags).joined(separator: "\n")
    }

    /// Whether another reading gave the same answers. Does not compare the kill flag's variant.
    func isEqual(to other: ProvidedAnswers) -> Bool {
        failure == nil && other.failure == nil && identity == other.identity
            && resolutions.mapValues(\.reason) == other.resolutions.mapValues(\.reason)
    }
}
