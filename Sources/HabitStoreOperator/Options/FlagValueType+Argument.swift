import ArgumentParser
import FeatureFlags

/// Types of values are typed by their names.
extension FlagValueType: ExpressibleByArgument {}
