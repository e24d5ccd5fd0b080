import Foundation
import Observation

/// Counts the writes to a store, by entity and by author. The names are SwiftData's.
@MainActor
@Observable
public final class HistoryObserver {
    /// How many transactions were seen that are wanted.
    public private(set) var eventCounter = 0
    /// The last of them.
    public private(set) var lastTransaction: HistoryTransaction?
    /// What ended it.
    public private(set) var error: (any Error)?

    @ObservationIgnored private nonisolated(unsafe) var task: Task<Void, Never>?

    /// Follows a store until it is let go of.
    ///
    /// - Parameters:
    ///   - token: what came after it counts.
    ///   - entities: the names of the entities whose changes are wanted; nil for all.
    ///   - authors: whose transactions are wanted; nil for everybody's, also without an author.
    public init(
        _ store: some HabitStore,
        after token: HistoryToken,
        entities: Set<String>? = nil,
        authors: Set<String>? = nil
    ) {
        let changes = store.changes(after: token)
        task = Task { [weak self] in
            do {
                for try await transaction in changes {
                    let isWanted =
                        entities.map { names in transaction.changes.contains { names.contains($0.entity) } } ?? true
                    let isByWanted = authors.map { $0.contains(transaction.author ?? "") } ?? true
                    guard isWanted, isByWanted else { continue }
                    guard let self else { return }
                    self.eventCounter += 1
                    self.lastTransaction = transaction
                }
            } catch {
                self?.error = error
            }
        }
    }

    deinit { task?.cancel() }
}
