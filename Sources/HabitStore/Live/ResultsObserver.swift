import Foundation
import Observation

/// A fetch that a view shows: its records change as the store does, and whoever reads them is told.
///
/// ```swift
/// let habits = ResultsObserver(store, FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.category)]), sectionBy: \.category)
/// ```
///
/// It follows the store until it is let go of. The name is that of SwiftData's.
@MainActor
@Observable
public final class ResultsObserver<Model: PersistentModel> {
    /// Records that follow one another and have the same value to be sectioned by.
    public struct Section: Identifiable, Sendable {
        /// The value, in text; empty for nil, and for all records where nothing is sectioned by.
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

    @ObservationIgnored private let title: (@Sendable (Model) -> String)?
    @ObservationIgnored private nonisolated(unsafe) var task: Task<Void, Never>?

    /// Follows a fetch.
    public init(_ store: some HabitStore, _ descriptor: FetchDescriptor<Model>) {
        title = nil
        follow(store, descriptor)
    }

    /// Follows a fetch whose records are shown in sections. The order of the fetch has to begin with what is sectioned by.
    public init<Value: Sendable>(
        _ store: some HabitStore,
        _ descriptor: FetchDescriptor<Model>,
        sectionBy keyPath: any KeyPath<Model, Value> & Sendable
    ) {
        title = { model in
            let value: Any = model[keyPath: keyPath]
            return Self.text(value)
        }
        follow(store, descriptor)
    }

    deinit { task?.cancel() }

    /// The records in sections: as many as there are runs of one value.
    public var sections: [Section] {
        guard let title else { return records.isEmpty ? [] : [Section(id: "", records: Array(records))] }
        var sections: [Section] = []
        var run: (id: String, records: [Model])?
        for record in records {
            let id = title(record)
            if run?.id != id {
                if let run { sections.append(Section(id: run.id, records: run.records)) }
                run = (id, [])
            }
            run?.records.append(record)
        }
        if let run { sections.append(Section(id: run.id, records: run.records)) }
        return sections
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
