/// The fetch that a view follows: the view describes it whenever it is drawn, and it is followed anew only where the store or the
/// fetch is another one than before.
@MainActor
package final class FollowedFetch<Model: PersistentModel> {
    /// What follows it; nil where there is no store.
    package private(set) var observer: ResultsObserver<Model>?
    private weak var store: (any HabitStore)?
    private var meaning: FetchMeaning?

    /// Follows nothing yet.
    package nonisolated init() {}

    /// Goes on with the fetch, or begins anew.
    package func follow(_ store: (any HabitStore)?, _ descriptor: FetchDescriptor<Model>) {
        guard let store else { return (observer, meaning) = (nil, nil) }
        // What is wrong with a fetch the observer tells, and two that are wrong are not told apart.
        let meaning = try? FetchMeaning(descriptor, in: store.schema)
        guard observer == nil || self.store !== store || self.meaning != meaning else { return }
        (self.store, self.meaning) = (store, meaning)
        observer = ResultsObserver(store, descriptor)
    }
}
