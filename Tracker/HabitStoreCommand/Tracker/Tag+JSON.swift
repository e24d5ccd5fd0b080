import HabitStore
import HabitStoreOperator
import HabitTracker

extension Tag {
    func json(habitCount: Int) -> JSON {
        .object(["id": .string(id.uuidString), "name": .string(name), "habitCount": .int(habitCount)])
    }
}
