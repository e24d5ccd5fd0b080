import Foundation
@_spi(Engines) import HabitStore

extension StoreContract {
    static let combinationClauses: [Clause] = [
        Clause("a unique combination is refused only if all of its values are equal") {
            bench in
            let store = try bench.contract()
            let first = Booking("cafe\u{301}", day: 1, guest: "Ada")
            try store.insert([first, Booking("cafe\u{301}", day: 2, guest: "Ada"), Booking("x", day: 1, guest: "Bob")])
            try expectError(.uniqueViolation, entity: "Booking", attribute: "room", id: first.id) {
                try store.save(Booking("caf\u{e9}", day: 1, guest: "Cyd"))
            }
            try expectError(.uniqueViolation, entity: "Booking", attribute: "guest", id: first.id) {
                try store.save(Booking("y", day: 1, guest: "Ada"))
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Booking>()), 3, "the number of bookings")
        },
        Clause("a record with a nil value in a combination conflicts with no other") { bench in
            let store = try bench.contract()
            var bookings = (0..<4).map { Booking("room \($0)", day: 7) }
            try store.insert(bookings)
            bookings[0].guest = ""
            try store.save(bookings[0])
            bookings[1].guest = ""
            try expectError(.uniqueViolation, entity: "Booking", attribute: "guest", id: bookings[0].id) {
                try store.save(bookings[1])
            }
            bookings[0].guest = nil
            try store.save(bookings[0])
            try store.save(bookings[1])
        },
        Clause(
            "a combination may be kept, changed and taken over from a record that gives it up, even in one transaction"
        ) {
            bench in
            let store = try bench.contract()
            var first = Booking("a", day: 1)
            try store.save(first)
            first.guest = "Ada"
            try store.save(first)
            let second = Booking("a", day: 1)
            try store.write { transaction in
                first.room = "b"
                try transaction.save(first)
                try transaction.insert(second)
                try expectError(.uniqueViolation, entity: "Booking", attribute: "room", id: first.id) {
                    try transaction.insert(Booking("b", day: 1))
                }
                try transaction.delete(second)
                try transaction.insert(Booking("a", day: 1))
            }
            try expectEqual(try store.all(Booking.self).map(\.room).sorted(), ["a", "b"], "the rooms")
        },
        Clause("duplicate combinations of an old store are carried over unchanged, and reported") { bench in
            let store = try bench.contract()
            let twice = [Booking("a", day: 1, guest: "Ada"), Booking("a", day: 1, guest: "Bob")]
            try store.replicate { replica in
                let entity = try store.schema.position(of: Booking.self)
                let layout = store.schema.entities[entity].layout
                for booking in twice {
                    let values: [Value] = [
                        .uuid(booking.id), .string(booking.room), .date(booking.day), .string(booking.guest ?? ""),
                    ]
                    try replica.put(entity: entity, id: booking.id, try EncodedRecord(values, layout: layout))
                }
            }
            let findings = try store.check { _ in }
            try expectEqual(findings.map(\.kind), ["duplicateUniqueValue"], "the check's findings")
            try expectEqual(findings.first?.severity, .anomaly, "their severity")
            try expectEqual(findings.first?.attribute, "room", "the first attribute")
        },
        Clause("random bookings never duplicate a combination") { bench in
            let store = try bench.contract()
            let seed = UInt64.random(in: 0...9_999)
            var generator = SeededGenerator(seed: seed)
            var kept: [Booking] = []
            for _ in 0..<300 {
                var booking = Booking(
                    ["a", "b", "c"].randomElement(using: &generator) ?? "a",
                    day: Int.random(in: 0..<6, using: &generator),
                    guest: ["Ada", "Bob", nil].randomElement(using: &generator) ?? nil
                )
                if Bool.random(using: &generator), let old = kept.randomElement(using: &generator) {
                    booking.id = old.id
                }
                let others = kept.filter { $0.id != booking.id }
                let isFree = !others.contains { other in
                    other.day == booking.day
                        && (other.room == booking.room || (booking.guest != nil && other.guest == booking.guest))
                }
                do {
                    try store.save(booking)
                    try expect(isFree, "a duplicate combination was accepted, seed \(seed)")
                    kept = others + [booking]
                } catch let error as HabitStoreError where error.code == .uniqueViolation {
                    try expect(!isFree, "a free combination was refused, seed \(seed)")
                }
            }
            let expected = kept.sorted { $0.id.isBefore($1.id) }
            try expectEqual(try store.all(Booking.self), expected, "the bookings, seed \(seed)")
        },
    ]
}
