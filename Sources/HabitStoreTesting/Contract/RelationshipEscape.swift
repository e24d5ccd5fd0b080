import Dispatch
import Foundation
import HabitStore
import HabitTracker

/// Ways in which a program asks a record for its relationships outside of the transaction that read it. Each is a programming error and has to end
/// the
/// process with a message that says so.
package enum RelationshipEscape: String, CaseIterable, Codable, Sendable {
    /// The record is returned from the closure.
    case returned
    /// A task that the closure starts continues after the closure has ended.
    case task
    /// A task that the closure starts runs while the closure does.
    case concurrentTask
    /// The closure passes the record to another thread while it runs.
    case thread
    /// The record is used after another transaction ran on the thread, inside the one still in progress.
    case nestedThenReturned

    /// The message of the trap.
    package static let sentence = "was read outside of a transaction"

    /// Makes the mistake.
    ///
    /// - Throws: an error of the store before the mistake is reached.
    package func make(in store: some HabitStore) async throws {
        let habit = Habit(name: "Run")
        try await store.write { transaction in
            try transaction.insert(habit)
            try transaction.insert(Entry(habitID: habit.id))
        }
        switch self {
        case .returned: _ = try store.firstEntry()?.habit
        case .task: _ = try await store.read { Self.habitLater(of: try $0.firstEntry()) }.value
        case .concurrentTask:
            try await store.read { transaction in
                let entry = try transaction.firstEntry()
                let done = DispatchSemaphore(value: 0)
                Task {
                    _ = entry?.habit
                    done.signal()
                }
                done.wait()
            }
        case .thread:
            try await store.read { transaction in
                let entry = try transaction.firstEntry()
                try onAnotherThread { _ = entry?.habit }
            }
        case .nestedThenReturned:
            let entry = try await store.read { transaction in
                _ = try store.firstEntry()
                // The relationships of this transaction's records can be read again.
                let entry = try transaction.firstEntry()
                guard entry?.habit == habit else { return Entry?.none }
                return entry
            }
            _ = entry?.habit
        }
    }

    private static func habitLater(of entry: Entry?) -> Task<Habit?, Never> {
        Task {
            do {
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                return nil
            }
            return entry?.habit
        }
    }
}

extension HabitStore {
    /// Reads in a transaction that ends with the call.
    fileprivate func firstEntry() throws -> Entry? { try read { try $0.firstEntry() } }
}

extension ReadTransaction {
    fileprivate func firstEntry() throws -> Entry? { try all(Entry.self).first }
}
