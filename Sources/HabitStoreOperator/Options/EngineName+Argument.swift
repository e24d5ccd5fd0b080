import ArgumentParser
import HabitStore
import HabitStoreRollout

/// Arguments name engines.
extension EngineName: ExpressibleByArgument {}
