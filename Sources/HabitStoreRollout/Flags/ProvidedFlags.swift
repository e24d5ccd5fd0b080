import Dispatch
import FeatureFlags
import Foundation
import HabitStore
import Logging
import Synchronization

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
