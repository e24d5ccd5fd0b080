import ArgumentParser
import HabitStoreRollout

/// Stages are typed by their names.
extension Stage: ExpressibleByArgument {}
