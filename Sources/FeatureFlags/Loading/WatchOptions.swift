/// How files are watched.
public struct WatchOptions: Sendable, Equatable {
    /// Whether the system is asked to tell of changes (inotify, on Linux). Where it cannot, files are looked at.
    public var usesNotifications: Bool
    /// How often files are looked at, in milliseconds, also where the system tells of changes: it does not for network
    /// file systems and for some renames of directories.
    public var pollMilliseconds: Int
    /// How long a file must rest that is being written, in milliseconds, before it is read.
    public var settleMilliseconds: Int

    /// Chooses how files are watched.
    public init(usesNotifications: Bool = true, pollMilliseconds: Int = 1000, settleMilliseconds: Int = 25) {
        self.usesNotifications = usesNotifications
        self.pollMilliseconds = max(1, pollMilliseconds)
        self.settleMilliseconds = max(0, settleMilliseconds)
    }
}
