import HabitStore
import Logging

/// How the stores of all users under a root are kept.
public struct RolloutOptions: Sendable {
    /// How mirrors follow.
    public var mirror = MirrorOptions()
    /// How reads are compared.
    public var shadowReads = ShadowReadOptions()
    /// Gathers what is asked of the users' stores; nil where nobody wants to know. It costs each question a look at what
    /// was asked before.
    public var queryRecorder: QueryRecorder?
    /// What the gate asks for.
    public var gate = GatePolicy()
    /// How long an operation waits for another process that is opening or moving the user, in seconds.
    public var lockWaitSeconds = 30.0
    /// How long a store may take for one step of a move, in seconds. The kill switch goes on without the new store then.
    public var stepLimitSeconds = 5.0
    /// Whether flag files and the sentinel file are watched; else they are read once.
    public var followsFlags = true
    /// How often rules are evaluated anew although no file has changed, for those that ask for the time, in seconds.
    public var recheckSeconds = 30.0
    /// Whether a user is moved towards the stage that the flags want, as far as the gate lets, in the background.
    public var advancesByItself = true
    /// How often that is tried, in seconds.
    public var advanceSeconds = 5.0
    /// Told about stages, kills and failures.
    public var logger = Logger(label: "habit-store")
    /// Opens a user's stores.
    public var opener: StoreOpener = { address, access, schema in try address.open(access, schema: schema) }

    /// Options with the defaults.
    public init() {}
}
