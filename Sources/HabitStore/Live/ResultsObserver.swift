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
