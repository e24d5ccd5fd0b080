import ArgumentParser
import FeatureFlags

/// Arguments name value types.
extension FlagValueType: ExpressibleByArgument {}
