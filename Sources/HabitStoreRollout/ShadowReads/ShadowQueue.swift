import Dispatch
import Foundation
import Synchronization

/// A queue of comparisons, and the one thread that makes them.
///
/// The thread lingers for a moment when the queue is empty: waking it up is the most expensive part of a comparison for the reader.
final class ShadowQueue<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isWorking = false
    }

    private static var lingeringSeconds: Double { 0.001 }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    /// Adds an element, and runs `work` unless it is running.
    func append(_ element: Element, _ work: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            state.waiting.append(element)
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if begins { queue.async(execute: work) }
    }

    /// The waiting elements; for the working thread.
    func takeNow() -> [Element] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// The elements that are waiting now or arrive in a moment. If there are none, the work has ended.
    func take() -> [Element] {
        let found = takeNow()
        guard found.isEmpty else { return found }
        Thread.sleep(forTimeInterval: Self.lingeringSeconds)
        return state.withLock { state in
            defer { state.waiting = [] }
            state.isWorking = !state.waiting.isEmpty
            return state.waiting
        }
    }
}
