/// What happens to servers.
enum FailoverTrouble: String, CaseIterable, Sendable {
    /// The primary and all of its processes are killed, and the standby takes its place.
    case kill
    /// The standby takes the place of a primary that lives on and does not know.
    case livesOn = "lives-on"
    /// The standby answers nothing for a while.
    case frozenStandby = "frozen-standby"
}
