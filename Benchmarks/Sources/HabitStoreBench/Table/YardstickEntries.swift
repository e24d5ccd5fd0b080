import CYardstick
import Foundation
import HabitStore
import HabitTracker

/// Entries as C structs; their notes live as long as this object.
final class YardstickEntries {
    let buffer: UnsafeBufferPointer<cy_entry>
    private let entries: UnsafeMutableBufferPointer<cy_entry>
    private let notes: UnsafeMutableBufferPointer<CChar>

    init(_ models: [Entry]) {
        entries = .allocate(capacity: models.count)
        notes = .allocate(capacity: models.reduce(1) { $0 + ($1.note?.utf8.count ?? 0) })
        buffer = UnsafeBufferPointer(entries)
        var used = 0
        for (index, model) in models.enumerated() {
            var made = cy_entry()
            withUnsafeMutableBytes(of: &made.id) { $0.storeBytes(of: model.id.uuid, as: uuid_t.self) }
            made.date = model.date.timeIntervalSinceReferenceDate
            made.value = model.value ?? 0
            made.hasValue = model.value == nil ? 0 : 1
            made.noteLength = -1
            if let note = model.note {
                made.note = notes.baseAddress.map { UnsafePointer($0 + used) }
                let end = notes[used...].update(fromContentsOf: note.utf8.map { CChar(bitPattern: $0) })
                made.noteLength = Int32(end - used)
                used = end
            }
            if let habit = model.habitID {
                made.hasHabit = 1
                withUnsafeMutableBytes(of: &made.habit) { $0.storeBytes(of: habit.uuid, as: uuid_t.self) }
            }
            entries.initializeElement(at: index, to: made)
        }
    }

    deinit {
        entries.deallocate()
        notes.deallocate()
    }
}
