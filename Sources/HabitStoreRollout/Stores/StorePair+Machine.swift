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

    /// The text that a store keeps of a state: whose it is stands in it, too.
    func text(of state: RolloutState) throws -> String {
        var owned = state
        owned.owner = directory.owner
        owned.machine = try machine(state)?.text
        return try owned.encoded()
    }

    /// Has a copy that other machines reach say which machine has the user's other store: who finds the copy is not to take it for all
    /// that is left.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` where it is another machine's.
    func claimCopy(_ engine: EngineName, _ state: RolloutState) throws {
        guard known.isShared(engine), let machine = try machine(state) else { return }
        let text = try text(of: state)
        try store(engine).replicate { replica in
            let there = try standing(engine, replica)
            if let elsewhere = StoreWitness(directory, nil).objection(toMachineOf: there) { throw elsewhere }
            guard !there.hasServed, there.machine != machine else { return }
            try replica.setRolloutState(text)
        }
    }
}
