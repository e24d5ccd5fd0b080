import ArgumentParser
import HabitStore
import HabitStoreRollout
import StandardEngines

/// Engines are typed by their names.
extension EngineName: ExpressibleByArgument {}
