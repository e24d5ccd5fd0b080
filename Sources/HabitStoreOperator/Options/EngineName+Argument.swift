import ArgumentParser
import HabitStore
import HabitStoreRollout

/// Engines are typed by their names.
extension EngineName: ExpressibleByArgument {}
