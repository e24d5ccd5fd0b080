import ArgumentParser
import HabitStoreRollout

/// Engines are typed by their names.
extension EngineName: ExpressibleByArgument {}
