import HabitStore

extension HabitStoreError.Code {
    /// A file that is to be imported is damaged, or not what it has to be.
    public static let invalidSource = Self(rawValue: "invalidSource")
    /// A file that is to be imported is an earlier state of one that was imported already.
    public static let olderSource = Self(rawValue: "olderSource")
    /// A file that is to be imported is of no format that is known.
    public static let unknownFormat = Self(rawValue: "unknownFormat")
}
