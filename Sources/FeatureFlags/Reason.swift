/// Why an evaluation gave its value. The names are OpenFeature's, and the set is open, as there.
public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name, as OpenFeature spells it.
    public let rawValue: String

    /// Makes a reason from its stable name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name.
    public var description: String { rawValue }
}

extension Reason {
    /// The flag has no targeting; the default variant was served.
    public static var `static`: Self { Self(rawValue: "STATIC") }
    /// The targeting gave no variant; the default variant, or the caller's default, was served.
    public static var `default`: Self { Self(rawValue: "DEFAULT") }
    /// The targeting chose the variant.
    public static var targetingMatch: Self { Self(rawValue: "TARGETING_MATCH") }
    /// The variant came from a pseudo-random assignment. flagd says `TARGETING_MATCH` there, and so does this module.
    public static var split: Self { Self(rawValue: "SPLIT") }
    /// The value came from a cache.
    public static var cached: Self { Self(rawValue: "CACHED") }
    /// The flag is switched off in its file; the caller's default was served.
    public static var disabled: Self { Self(rawValue: "DISABLED") }
    /// The reason is not known.
    public static var unknown: Self { Self(rawValue: "UNKNOWN") }
    /// The value comes from flags that may be out of date.
    public static var stale: Self { Self(rawValue: "STALE") }
    /// The evaluation failed; the caller's default was served.
    public static var error: Self { Self(rawValue: "ERROR") }
}
