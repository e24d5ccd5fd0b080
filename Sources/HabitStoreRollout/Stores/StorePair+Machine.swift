@_spi(Engines) import HabitStore

extension Engines {
    /// The same engines, for which users' stores are copies that this machine makes; other machines' copies lie elsewhere.
    ///
    /// - Parameter directory: the user's own.
    func copied(as name: String, by directory: UserDirectory) throws -> Engines {
        let isShared = names.contains(where: isShared)
        return copied(as: isShared ? "\(name)-\(try directory.machine.number)" : name)
    }
}

extension StorePair {
    /// Whether the store that serves is reached from other machines, too, and no other one counts: all that is known of the user is
    /// in the stores then, and a folder only keeps copies of it.
    func isWithoutMachine(_ state: RolloutState) -> Bool {
        let serving = state.engine(state.stage.authority)
        guard known.isShared(serving) else { return false }
        return known.isShared(state.engines.other(than: serving)) || state.stage == .off || state.stage == .complete
    }

    /// The machine that a user in some state belongs to: this one; nil for none, and where only this one has the user's stores
    /// anyway.
    ///
    /// - Throws: why this machine cannot be told from others.
    func machine(_ state: RolloutState) throws -> Machine? {
        guard state.engines.names.contains(where: known.isShared), !isWithoutMachine(state) else { return nil }
        return try directory.machine
    }
}
