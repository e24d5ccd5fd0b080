import HabitStore
import HabitStoreRollout

/// For code that concerns only these two engines: sweeps over both, and tests.
extension EngineName {
    /// SQLite and LMDB.
    package static let standard = Engines.standard.names

    /// The other engine of the two.
    package var otherStandard: EngineName { Engines.standard.pair(old: self).new }

    /// The name of a user's store file with this engine.
    package var fileName: String { "store.\(rawValue)" }
}

extension UserDirectory {
    /// The address of the user's store with an engine.
    package func address(_ engine: EngineName) -> StoreAddress {
        Engines.standard.address(engine, ofUser: user, inFolder: path)
    }
}
