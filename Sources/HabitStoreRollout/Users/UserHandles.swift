/// The users' stores that somebody in this process keeps, so that all who ask get the same one.
struct UserHandles {
    private struct Weak {
        weak var store: UserStore?
    }

    private var handles: [UserKey: Weak] = [:]
    /// At how many those that nobody keeps any more are removed.
    private var sweepCount = 64

    /// A user's store, if somebody keeps it.
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
