import Foundation
import Observation

/// A fetch for a view: its records change as the store does, and observers are notified.
///
/// ```swift
/// let habits = ResultsObserver(store, FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.category)]), sectionBy: \.category)
/// ```
///
/// It follows the store until it is released. The name is SwiftData's.
@MainActor
@Observable
public final class ResultsObserver<Model: PersistentModel> {
    /// Records that follow one another and have the same value to be sectioned by.
    public struct Section: Identifiable, Sendable {
        /// The value, in text; empty for nil, and for all records where nothing is sectioned by. Where an earlier section has the same
        /// text, a number follows it, as in the section of `""` after the section of nil: no two sections have the same `id`.
        public let id: String
        /// The records, in order.
        public let records: [Model]
    }

    /// The answer; nil until the first one is there.
    public private(set) var change: ResultsChange<Model>?
    /// What ended it.
    public private(set) var error: (any Error)?

    /// The records, in order; none until the first answer is there.
    public var records: LiveRecords<Model> { change?.records ?? LiveRecords([]) }

    @ObservationIgnored private let sectioning: Sectioning?
    // Set by `init`; read by `deinit`, after the last reference to this object is gone.
    @ObservationIgnored private nonisolated(unsafe) var task: Task<Void, Never>?

    /// Follows a fetch.
    public init(_ store: some HabitStore, _ descriptor: FetchDescriptor<Model>) {
        sectioning = nil
        follow(store, descriptor)
    }

    /// Follows a fetch whose records are shown in sections. The order of the fetch has to begin with what is sectioned by.
    public init<Value: Equatable & Sendable>(
        _ store: some HabitStore,
        _ descriptor: FetchDescriptor<Model>,
        sectionBy keyPath: any KeyPath<Model, Value> & Sendable
    ) {
        sectioning = Sectioning(
            isSame: { $0[keyPath: keyPath] == $1[keyPath: keyPath] },
            title: { Self.text($0[keyPath: keyPath]) }
        )
        follow(store, descriptor)
    }

    deinit { task?.cancel() }

    /// The records in sections: as many as there are runs of one value.
    public var sections: [Section] {
        guard let sectioning else { return records.isEmpty ? [] : [Section(id: "", records: Array(records))] }
        var sections: [Section] = []
        var names: Set<String> = []
        var run: [Model] = []
        func end() {
            guard let first = run.first else { return }
            let title = sectioning.title(first)
            var id = title
            var number = 1
            while !names.insert(id).inserted {
                number += 1
                id = "\(title) (\(number))"
            }
            sections.append(Section(id: id, records: run))
            run = []
        }
        for record in records {
            if let last = run.last, !sectioning.isSame(last, record) { end() }
            run.append(record)
        }
        end()
        return sections
    }

    /// Compares two records by the property that makes the sections, and names a section.
    private struct Sectioning: Sendable {
        let isSame: @Sendable (Model, Model) -> Bool
        let title: @Sendable (Model) -> String
    }

    private nonisolated static func text(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return "\(value)" }
        return mirror.children.first.map { text($0.value) } ?? ""
    }

    private func follow(_ store: some HabitStore, _ descriptor: FetchDescriptor<Model>) {
        let results = store.results(of: descriptor)
        task = Task { [weak self] in
            do {
                for try await change in results {
                    guard let self else { return }
                    self.change = change
                }
            } catch {
                self?.error = error
            }
        }
    }
}

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

    // Set by `init`; read by `deinit`, after the last reference to this object is gone.
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

/// The fetch that a view follows. The view describes it on every redraw; following restarts only if the store or the fetch changed.
@MainActor
package final class FollowedFetch<Model: PersistentModel> {
    /// What follows it; nil where there is no store.
    package private(set) var observer: ResultsObserver<Model>?
    private weak var store: (any HabitStore)?
    private var meaning: FetchMeaning?

    /// Follows nothing yet.
    package nonisolated init() {}

    /// Continues following the fetch, or starts over if it changed.
    package func follow(_ store: (any HabitStore)?, _ descriptor: FetchDescriptor<Model>) {
        guard let store else { return (observer, meaning) = (nil, nil) }
        // The observer reports an invalid fetch; two invalid ones are not distinguished.
        let meaning = try? FetchMeaning(descriptor, in: store.schema)
        guard observer == nil || self.store !== store || self.meaning != meaning else { return }
        (self.store, self.meaning) = (store, meaning)
        observer = ResultsObserver(store, descriptor)
    }
}
