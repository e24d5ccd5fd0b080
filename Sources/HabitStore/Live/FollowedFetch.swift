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
