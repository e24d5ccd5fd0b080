import HabitStore
import HabitStoreRollout

/// For what is about these two engines and no others: sweeps over both, tests.
extension EngineName {
    /// SQLite and LMDB.
    package static let standard = Engines.standard.names

    /// The other one of the two.
    package var otherStandard: EngineName { Engines.standard.pair(old: self).new }

    /// The name of a user's store file with this engine.
    package var fileName: String { "store.\(rawValue)" }
}

extension UserDirectory {
    /// The store of an engine.
    package func address(_ engine: EngineName) -> StoreAddress {
        Engines.standard.address(engine, ofUser: user, inFolder: path)
    }
}
