#if canImport(SwiftUI)
import Foundation
import SwiftUI

/// The records of a fetch in a view, which is redrawn when they change. The name is SwiftData's.
///
/// <!-- example: where SwiftUI can be imported -->
/// ```swift
/// struct Habits: View {
///     @Query(sort: [SortDescriptor(\.name)]) private var habits: LiveRecords<Habit>
///
///     var body: some View { List(habits) { Text($0.name) } }
/// }
///
/// Habits().environment(\.habitStore, store)
/// ```
///
/// It is empty before the first result, and without a store. Its observer, `$habits`, says which of the two it is, and has the error if there was
/// one.
@propertyWrapper
public struct Query<Model: PersistentModel>: DynamicProperty {
    @Environment(\.habitStore) private var store
    @State private var followed = FollowedFetch<Model>()
    private let descriptor: FetchDescriptor<Model>

    /// Shows the records of a fetch.
    public init(_ descriptor: FetchDescriptor<Model>) { self.descriptor = descriptor }

    /// Shows the records that fulfil a condition, or all, in an order.
    public init(filter: Predicate<Model>? = nil, sort: [SortDescriptor<Model>] = []) {
        self.init(FetchDescriptor(predicate: filter, sortBy: sort))
    }

    /// The records, in order.
    @MainActor public var wrappedValue: LiveRecords<Model> { projectedValue?.records ?? LiveRecords([]) }

    /// What follows the fetch; nil where the environment has no store.
    @MainActor public var projectedValue: ResultsObserver<Model>? { followed.observer }

    /// Follows the fetch, where it or the store has become another one. SwiftUI calls it before it draws the view.
    public mutating func update() {
        let (followed, store, descriptor) = (followed, store, descriptor)
        MainActor.assumeIsolated { followed.follow(store, descriptor) }
    }
}

extension EnvironmentValues {
    private struct HabitStoreKey: EnvironmentKey {
        static let defaultValue: (any HabitStore)? = nil
    }

    /// The store that the view's queries are put to.
    public var habitStore: (any HabitStore)? {
        get { self[HabitStoreKey.self] }
        set { self[HabitStoreKey.self] = newValue }
    }
}
#endif
