import Foundation
import HabitStore

extension ReadTransaction {
    /// The habit that is meant by a name or an identifier.
    func habit(_ text: String) throws -> Habit {
        try model(text, "habit", named: "name") { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// The tag that is meant by a name or an identifier.
    func tag(_ text: String) throws -> Tag {
        try model(text, "tag", named: "name") { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// The entry that is meant by an identifier.
    func entry(_ text: String) throws -> Entry {
        try model(text, "entry", named: nil) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    /// The draft that is meant by an identifier.
    func draft(_ text: String) throws -> Draft {
        try model(text, "draft", named: nil) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    private func model<M: PersistentModel>(
        _ text: String,
        _ what: String,
        named attribute: String?,
        _ candidate: (M) -> RecordReference.Candidate
    ) throws -> M {
        let reference = RecordReference(text: text, what: what)
        var byName: [RecordReference.Candidate] = []
        if let attribute {
            let name = FilterExpression.attribute(AttributePath(attribute))
            byName = try fetch(FetchDescriptor<M>(filter: .compare(.equal, name, .literal(.string(text))))).map(
                candidate
            )
        }
        let id = try reference.resolve(byName: byName) { condition in
            try fetch(FetchDescriptor<M>(filter: condition)).map(candidate)
        }
        guard let found = try model(M.self, id: id) else {
            throw HabitStoreError(
                .internalInconsistency,
                "a record that was found cannot be read again; run `habitstore check`"
            )
        }
        return found
    }

    /// A habit's entries, oldest first.
    func entries(of habit: UUID) throws -> [Entry] {
        let reference = FilterExpression.attribute(AttributePath("habitID"))
        return try fetch(
            FetchDescriptor<Entry>(
                filter: .compare(.equal, reference, .literal(.uuid(habit))),
                sortBy: [SortDescriptor(\.date)]
            )
        )
    }
}
