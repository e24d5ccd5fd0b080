import HabitStore

/// The schema of the sample: trips of all kinds, what is to be done on them, and where their nights are spent.
public enum TripSchema {
    /// The current version.
    public static let current = Schema(
        [Trip.self, BucketListItem.self, LivingAccommodation.self],
        version: Schema.Version(1, 0, 0)
    )
}
