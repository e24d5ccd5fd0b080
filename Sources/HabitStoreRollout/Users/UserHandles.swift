/// The user stores in use in this process, so that every caller gets the same one.
struct UserHandles {
    private struct Weak {
        weak var store: UserStore?
    }

    private var handles: [UserKey: Weak] = [:]
    /// The size at which released ones are removed.
    private var sweepCount = 64

    /// A user's store, if it is in use.
    subscript(user: String) -> UserStore? {
        get { handles[UserKey(user)]?.store }
        set {
            handles[UserKey(user)] = newValue.map { Weak(store: $0) }
            guard handles.count > sweepCount else { return }
            handles = handles.filter { $0.value.store != nil }
            sweepCount = 2 * handles.count + 64
        }
    }
}
