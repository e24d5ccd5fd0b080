import HabitStore
import HabitStoreOperator
import HabitTracker

extension Draft {
    var json: JSON {
        var members: [String: JSON] = [
            "id": .string(id.uuidString),
            "content": .string(content),
            "attachments": .array(attachments.map { .string($0) }),
        ]
        members.set("creationDate", creationDate)
        return .object(members)
    }
}
