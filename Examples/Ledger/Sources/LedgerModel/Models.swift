import Foundation
import HabitStoreMacros

@Model
package struct Account {
    @Unique package var name: String
    @ToMany(inverse: \Booking.account, deleteRule: .cascade) package var bookings: [Booking]
}

@Model
package struct Category {
    package var name: String
    @ToOne package var parent: Category?
    @ToMany(inverse: \Category.parent) package var children: [Category]
}

@Model
package struct Booking {
    package var date: Date
    package var amount: Int
    package var note: String?
    package var accountID: UUID
    @ToOne package var account: Account?
    @ToOne package var category: Category?
    @ManyToMany package var labels: [Label]
    @ToMany(inverse: \Attachment.booking, deleteRule: .cascade) package var attachments: [Attachment]
}

@Model
package struct Label {
    @Unique package var name: String
    @ManyToMany(inverse: \Booking.labels) package var bookings: [Booking]
}

@Model
package struct Attachment {
    package var name: String
    package var content: Data
    package var bookingID: UUID
    @ToOne package var booking: Booking?
}
