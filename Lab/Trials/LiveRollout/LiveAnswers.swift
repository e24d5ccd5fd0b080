import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import Synchronization

/// Follows a query: each answer must belong to a later token than the one before, must equal that one plus the difference, and must equal a fetch at
/// its
/// token.
final class LiveAnswers<Answer: Equatable & Sendable>: LiveFollower {
    /// An element of a stream, with what all streams have in common.
    struct Element {
        let token: HistoryToken
        /// Nil if the stream has no causes.
        let cause: ResultsChangeCause?
        let answer: Answer
        /// Whether the previous answer plus the difference is the answer.
        let isConsistent: Bool
    }

    private struct Told {
        let token: HistoryToken
        let answer: Answer
    }

    private struct State {
        var last: Told?
        /// Whether the current loop has received an element.
        var hasBegun = false
        var mayRestart = false
        var count = 0
        /// A uniform random sample of the received answers.
        var samples: [Told] = []
        var faults: [String] = []
        var generator: SeededGenerator
    }

    typealias Take = @Sendable (Element) async throws -> Void

    let name: String
    let loop = LiveLoop()
    private let follow: @Sendable (UserStore, Take) async throws -> Void
    private let fetch: @Sendable (any ReadTransaction) throws -> Answer
    /// How long it is busy after each element, at most.
    private let busyMilliseconds: Int
    private let state: Mutex<State>

    /// How many answers are compared with a replay of the writes.
    private static var mostSamples: Int { 24 }

    init(
        _ name: String,
        seed: UInt64,
        busyMilliseconds: Int,
        _ follow: @escaping @Sendable (UserStore, Take) async throws -> Void,
        fetch: @escaping @Sendable (any ReadTransaction) throws -> Answer
    ) {
        (self.name, self.busyMilliseconds, self.follow, self.fetch) = (name, busyMilliseconds, follow, fetch)
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    var token: HistoryToken { state.withLock { $0.last?.token ?? .zero } }
    var count: Int { state.withLock { $0.count } }
    var faults: [String] { state.withLock { $0.faults } }

    func begin(_ store: UserStore) {
        state.withLock { $0.hasBegun = false }
        loop.begin { [self] in
            try await follow(store) { element in
                let milliseconds = take(element)
                if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
            }
        }
    }

    /// Records an element.
    ///
    /// - Returns: how many milliseconds the follower is now busy.
    func take(_ element: Element) -> Int {
        state.withLock { state in
            func note(_ fault: String) { state.faults.append("token \(element.token): \(fault)") }
            if let last = state.last?.token, element.token < last || element.token == last && state.hasBegun {
                note("an element arrived after that of token \(last)")
            }
            let isExpected =
                switch element.cause {
                case .first: !state.hasBegun
                case .changed: state.hasBegun
                case .restarted: state.hasBegun && state.mayRestart
                case nil: true
                }
            if !isExpected { note("unexpected cause \(element.cause?.rawValue ?? "none")") }
            if !element.isConsistent { note("the previous answer plus the difference is not the answer") }
            let told = Told(token: element.token, answer: element.answer)
            state.last = told
            state.hasBegun = true
            state.count += 1
            let place = state.generator.int(0...state.count - 1)
            if state.samples.count < Self.mostSamples {
                state.samples.append(told)
            } else if place < Self.mostSamples {
                state.samples[place] = told
            }
            return state.generator.int(0...busyMilliseconds)
        }
    }

    func allowRestart() { state.withLock { $0.mayRestart = true } }

    func isPresent(_ transaction: any ReadTransaction) throws -> Bool {
        guard let last = state.withLock({ $0.hasBegun ? $0.last : nil }) else { return false }
        return try fetch(transaction) == last.answer
    }

    private func told() -> [Told] { state.withLock { $0.samples + ($0.last.map { [$0] } ?? []) } }

    var tokensToCompare: Set<HistoryToken> { Set(told().map(\.token)) }

    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) throws -> String? {
        let expected = try fetch(transaction)
        guard let wrong = told().first(where: { $0.token == token && $0.answer != expected }) else { return nil }
        let (found, wanted) = ("\(wrong.answer)".prefix(Self.textLength), "\(expected)".prefix(Self.textLength))
        return "the answer at token \(token) differs from a fetch: \(found), not \(wanted)"
    }

    private static var textLength: Int { 600 }
}
