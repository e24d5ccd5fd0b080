@_spi(Engines) import HabitStore

/// Where a user's operations go, as of one stage and epoch. It is made when the stage changes, and only read afterwards.
final class Route: Sendable {
    /// Holds while the control file says that the user is at this stage and epoch.
    let condition: ReadCondition
    /// Where the user is.
    let actual: ActualStage
    /// The store that answers, and takes writes first-hand.
    let authority: any UserStoreBackend
    /// The store that is written before the authoritative one's commit, where the acknowledgement awaits it.
    let writtenFirst: (any UserStoreBackend)?
    /// The store that follows, where the acknowledgement does not await it.
    let mirror: Mirror?
    /// What compares reads, where that is done.
    let shadow: ShadowReader?
    /// Why no write is taken.
    let refusal: HabitStoreError?
    /// Measures writes; nil where nobody wants to know.
    let stopwatch: RolloutMetrics.Stopwatch?
    /// Keeps what the condition looks at mapped.
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

    /// Whether a later epoch was claimed since the route was made, or may have been, in another control file than the one that
    /// is mapped: what was written under it counts only where it is found again in what serves then.
    var isOvertaken: Bool { !control.isInPlace || control.floor > actual.epoch }
}
