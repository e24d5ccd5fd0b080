import HabitStore

/// The schema of the sample: trips of all kinds, things to do on them, and accommodations.
public enum TripSchema {
    /// The current version.
    public static let current = Schema(
        [Trip.self, BucketListItem.self, LivingAccommodation.self],
        version: Schema.Version(1, 0, 0)
    )
}
