@_spi(Engines) import HabitStore

extension Engines {
    /// The same engines, with addresses for copies that this machine makes of users' stores, separate from those of other machines.
    ///
    /// - Parameter directory: the user's folder.
    func copied(as name: String, by directory: UserDirectory) throws -> Engines {
        let isShared = names.contains(where: isShared)
        return copied(as: isShared ? "\(name)-\(try directory.machine.number)" : name)
    }
}

extension StorePair {
    /// Whether other machines can reach the serving store, and no other store counts: then the stores contain everything about the user, and a folder
    /// only has copies.
    func isWithoutMachine(_ state: RolloutState) -> Bool {
        let serving = state.engine(state.stage.authority)
        guard known.isShared(serving) else { return false }
        return known.isShared(state.engines.other(than: serving)) || state.stage == .off || state.stage == .complete
    }

    /// The machine that a user in some state belongs to: this one; nil for none, and if only this one can reach the user's stores anyway.
    ///
    /// - Throws: why this machine cannot be identified.
    func machine(_ state: RolloutState) throws -> Machine? {
        guard state.engines.names.contains(where: known.isShared), !isWithoutMachine(state) else { return nil }
        return try directory.machine
    }

    /// The text of a state for a store, including the user and machine that it belongs to.
    func text(of state: RolloutState) throws -> String {
        var owned = state
        owned.owner = directory.owner
        owned.machine = try machine(state)?.text
        return try owned.encoded()
    }

    /// Records in a copy that other machines can reach which machine has the user's other store, so that they do not take the copy for the user's
    /// only store.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if it belongs to another machine.
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
