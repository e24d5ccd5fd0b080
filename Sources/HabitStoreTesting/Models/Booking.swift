import Foundation
import HabitStore

/// A record with two unique combinations of attributes; one of them includes an optional.
struct Booking: PersistentModel {
    var id = UUID()
    var room = ""
    var day = Date(timeIntervalSinceReferenceDate: 0)
    var guest: String?

    init(_ room: String, day: Int, guest: String? = nil) {
        self.room = room
        self.day = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400)
        self.guest = guest
    }

    static let entity = EntityDescription(
        Booking.self,
        attributes: [
            .id(\Booking.id),
            .attribute("room", \Booking.room),
            .attribute("day", \Booking.day),
            .attribute("guest", \Booking.guest),
        ],
        uniqueness: [.unique(\Booking.room, \Booking.day), .unique(\Booking.guest, \Booking.day)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        room = try row.nextString()
        day = try row.nextDate()
        guest = try row.nextOptionalString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(room)
        try row.append(day)
        row.append(guest)
    }
}
