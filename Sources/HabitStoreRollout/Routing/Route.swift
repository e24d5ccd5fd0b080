@_spi(Engines) import HabitStore

/// Where a user's operations go, at one stage and epoch. A new route is made when the stage changes; a route never changes.
final class Route: Sendable {
    /// True while the control file says that the user is at this stage and epoch.
    let condition: ReadCondition
    let actual: ActualStage
    /// The store that answers, and takes writes first-hand.
    let authority: any UserStoreBackend
    /// The store that must commit before the authoritative one, at stages that write both.
    let writtenFirst: (any UserStoreBackend)?
    /// The mirror, at stages where a write is acknowledged without it.
    let mirror: Mirror?
    /// Compares reads, at stages that do.
    let shadow: ShadowReader?
    /// Why writes are refused; nil if they are not.
    let refusal: HabitStoreError?
    /// Measures writes; nil if they are not measured.
    let stopwatch: RolloutMetrics.Stopwatch?
    /// Keeps the memory of the condition mapped.
    let control: ControlFile

    /// - Parameter isShared: whether other machines reach the store that answers.
    init(
        _ actual: ActualStage,
        _ control: ControlFile,
        isShared: Bool = false,
        authority: any UserStoreBackend,
        writtenFirst: (any UserStoreBackend)? = nil,
        mirror: Mirror? = nil,
        shadow: ShadowReader? = nil,
        refusal: HabitStoreError? = nil,
        stopwatch: RolloutMetrics.Stopwatch? = nil
    ) {
        condition = control.condition(actual.stage, epoch: actual.epoch, isShared: isShared)
        self.actual = actual
        self.control = control
        self.authority = authority
        self.writtenFirst = writtenFirst
        self.mirror = mirror
        self.shadow = shadow
        self.refusal = refusal
        self.stopwatch = stopwatch
    }

    /// Whether a later epoch was claimed since the route was made, or may have been in another control file than the mapped one. A write under this
    /// route then counts only if the store that serves by then has it.
    var isOvertaken: Bool { !control.isInPlace || control.floor > actual.epoch }
}
