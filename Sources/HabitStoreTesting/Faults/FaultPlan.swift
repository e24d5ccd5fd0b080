import Foundation
import HabitStore

/// The faults of a ``FaultInjectingStore``, which a test controls while the store is in use.
///
/// Several stores may share one plan, and it outlives them: a store that is closed and opened again stays broken.
public final class FaultPlan: Sendable {
    private struct Armed {
        let fault: Fault
        var left: Int?
        var toPass: Int
    }

    private struct State {
        var faults: [Armed] = []
        var strikes = 0
        var hanging = 0
        /// Incremented by each healing; an operation hangs until it changes.
        var generation = 0
    }

    private let changed = NSCondition()
    /// Guarded by ``changed``.
    private nonisolated(unsafe) var state = State()

    /// Makes a plan without faults.
    public init() {}

    /// Adds a fault. If several match an operation, the oldest strikes.
    public func inject(_ fault: Fault) {
        changed.withLock { state.faults.append(Armed(fault: fault, left: fault.times, toPass: fault.passing)) }
    }

    /// Removes all faults. Hanging operations continue.
    public func heal() {
        changed.withLock {
            state.faults = []
            state.generation += 1
            changed.broadcast()
        }
    }

    /// How many operations a fault has struck so far.
    public var strikes: Int { changed.withLock { state.strikes } }

    /// How many operations hang now.
    public var hanging: Int { changed.withLock { state.hanging } }

    /// Waits until faults have struck `count` operations.
    ///
    /// - Returns: whether they did within `seconds`.
    public func waitForStrikes(_ count: Int, seconds: Double) -> Bool {
        changed.lock()
        defer { changed.unlock() }
        let deadline = Date(timeIntervalSinceNow: seconds)
        while state.strikes < count {
            guard changed.wait(until: deadline) else { return false }
        }
        return true
    }

    /// Reports that an operation has reached a moment.
    ///
    /// - Throws: the error of the fault that strikes.
    func reach(_ operation: Fault.Operation, _ moment: Fault.Moment, path: String?) throws {
        changed.lock()
        defer { changed.unlock() }
        guard let fault = take(operation, moment) else { return }
        state.strikes += 1
        changed.broadcast()
        switch fault.effect {
        case .fail(let code):
            throw HabitStoreError(
                code,
                "injected: \(operation.rawValue) failed at \(moment.rawValue)",
                at: .init(path: path),
                isDamage: code == .corrupt
            )
        case .hang:
            let generation = state.generation
            state.hanging += 1
            while state.generation == generation { changed.wait() }
            state.hanging -= 1
        }
    }

    /// The fault that strikes; call it only while ``changed`` is locked.
    private func take(_ operation: Fault.Operation, _ moment: Fault.Moment) -> Fault? {
        let index = state.faults.firstIndex { armed in
            armed.left != 0 && armed.fault.moment == moment && armed.fault.operations.contains(operation)
        }
        guard let index else { return nil }
        guard state.faults[index].toPass == 0 else {
            state.faults[index].toPass -= 1
            return nil
        }
        if let left = state.faults[index].left { state.faults[index].left = left - 1 }
        return state.faults[index].fault
    }
}
