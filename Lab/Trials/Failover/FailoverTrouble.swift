/// A trouble with the servers.
enum FailoverTrouble: String, CaseIterable, Sendable {
    /// The primary and all its processes are killed, and the standby is promoted.
    case kill
    /// The standby is promoted while the primary keeps running and does not know.
    case livesOn = "lives-on"
    /// The standby does not answer for a while.
    case frozenStandby = "frozen-standby"
}
