extension UserStore {
    /// Reads the flag file and looks for the sentinel file now, also where neither is watched.
    package func reloadFlags() { flags.provider.reload() }

    /// Has the mirror try again what it could not do, and waits until it has everything.
    ///
    /// - Returns: whether it has, within `waitSeconds`; true where nothing is mirrored.
    package func settleMirror(waitSeconds: Double) -> Bool {
        guard let mirror = route.load()?.mirror else { return true }
        mirror.retry()
        return mirror.settle(waitSeconds: waitSeconds)
    }
}
