import ArgumentParser
import HabitStoreRollout

/// Arguments name stages.
extension Stage: ExpressibleByArgument {}
