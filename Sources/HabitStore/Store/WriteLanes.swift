import Dispatch
import Foundation
import Synchronization

/// The threads of a store's async writes, made when they are needed.
final class WriteLanes: Sendable {
    private struct State {
        var idle: [DispatchQueue] = []
        var made = 0
        var waiting: [@Sendable () -> Void] = []
        /// How many closures have begun and not come back yet.
        var underWay = 0
        /// Counts beginnings and ends.
        var steps: UInt64 = 0
    }

    /// The pause before a write that was told to be busy is tried again.
    private static let pauseSeconds = 0.001

    private let label: String
    private let limit: Int
    private let state = Mutex(State())

    init(label: String, limit: Int) { (self.label, self.limit) = (label, limit) }

    /// Runs blocking work as soon as a thread is free, in the order of the calls.
    func async(_ work: @escaping @Sendable () -> Void) {
        let queue = state.withLock { state -> DispatchQueue? in
            if let queue = state.idle.popLast() { return queue }
            guard state.made < limit else {
                state.waiting.append(work)
                return nil
            }
            state.made += 1
            return DispatchQueue(label: "\(label)\(state.made)")
        }
        guard let queue else { return }
        queue.async { self.work(on: queue, beginningWith: work) }
    }

    private func work(on queue: DispatchQueue, beginningWith first: @escaping @Sendable () -> Void) {
        first()
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.idle.append(queue)
            return nil
        }
        if let next { queue.async { self.work(on: queue, beginningWith: next) } }
    }

    /// A closure begins.
    func noteBeginning() {
        state.withLock { state in
            state.underWay += 1
            state.steps += 1
        }
    }

    /// Runs a write; a store that is busy with other writes of these threads is waited for without limit, as if they stood
    /// in one line before it.
    func run<R>(_ attempt: WriteAttempt, _ work: (WriteAttempt) throws -> R) throws -> R {
        defer { if attempt.hasBegun { noteEnd() } }
        while true {
            try attempt.checkCancellation()
            let before = state.withLock(\.steps)
            do {
                return try work(attempt)
            } catch let error as HabitStoreError where error.code == .busy && !attempt.hasBegun {
                guard state.withLock({ $0.underWay > 0 || $0.steps != before }) else { throw error }
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
            }
        }
    }

    private func noteEnd() {
        state.withLock { state in
            state.underWay -= 1
            state.steps += 1
        }
    }
}
