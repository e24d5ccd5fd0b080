/// How files are watched.
public struct WatchOptions: Sendable, Equatable {
    /// Whether to use the system's change notifications (inotify, on Linux). Without them, files are polled.
    public var usesNotifications: Bool
    /// How often files are polled, in milliseconds. Files are polled even with notifications, which network file systems and some renames of directories do not
    /// send.
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
