import Foundation

/// How flag files are read and evaluated.
public struct FlagConfiguration: Sendable {
    /// The algorithm of `fractional`. A change of it moves users between variants.
    public var fractional: FractionalGeneration
    /// The flags whose value `true` switches something off, such as a kill switch, by key.
    ///
    /// Such a flag is honoured also from a file that cannot be read as a whole: where its own definition can be read in
    /// full, has no error, only boolean variants, and gives `true`. Where it gives anything else, the flag is what it was
    /// before: a damaged file can switch off, and can never end that, nor can a file that is gone. For the same reason
    /// the last good definition stays in force where the newest one, in a file that is whole, cannot be understood, and
    /// an earlier file's `true` where a later file defines the flag wrongly.
    public var killFlags: Set<String>
    /// Gives `$flagd.timestamp`, in seconds since 1970.
    public var clock: @Sendable () -> Int64

    /// The system's time in seconds since 1970.
    public static let systemClock: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// Makes a configuration; what is left out is as flagd has it.
    public init(
        fractional: FractionalGeneration = .v2,
        killFlags: Set<String> = [],
        clock: @escaping @Sendable () -> Int64 = Self.systemClock
    ) {
        self.fractional = fractional
        self.killFlags = killFlags
        self.clock = clock
    }
}
