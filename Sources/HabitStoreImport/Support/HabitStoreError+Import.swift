import HabitStore

extension HabitStoreError.Code {
    /// A source file is damaged or malformed.
    public static let invalidSource = Self(rawValue: "invalidSource")
    /// A source file is in an earlier state than one that was already imported.
    public static let olderSource = Self(rawValue: "olderSource")
    /// A source file has an unknown format.
    public static let unknownFormat = Self(rawValue: "unknownFormat")
}
