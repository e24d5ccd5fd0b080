import HabitStore

/// The kit's schema: every kind of attribute, and every delete rule on every kind of relationship.
enum ContractSchema {
    static let schema = Schema(
        [
            Specimen.self, Folder.self, Hub.self, Item.self, Badge.self, Leaf.self, Bouquet.self, Wrapper.self,
            Booking.self,
        ],
        version: .init(1, 2, 3)
    )
}
