import Dispatch
import Foundation
import Synchronization

/// What waits to be compared, and the one thread that works it off.
///
/// The thread stays around for a moment when there is nothing left to do: to wake it up is the dearest part of what a reader
/// pays for a comparison.
final class ShadowQueue<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isWorking = false
    }

    private static var lingeringSeconds: Double { 0.001 }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    /// Adds an element, and has `work` run if it does not.
    func append(_ element: Element, _ work: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            state.waiting.append(element)
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if begins { queue.async(execute: work) }
    }

    /// What waits now; for the thread that works.
    func takeNow() -> [Element] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// What waits now or in a moment. Where it is nothing, the work has ended.
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
