import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

extension ReadTransaction {
    /// The habit with a name or an identifier.
    func habit(_ text: String) throws -> Habit {
        try model(text, "habit", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// Throws if another habit has the name, since commands could then select neither habit by name.
    ///
    /// - Parameter habit: the habit to name, which may already have the name.
    func requireNewName(_ name: String, for habit: UUID? = nil) throws {
        guard let known = try models(Habit.self, named: name).first(where: { $0.id != habit }) else { return }
        let shown = RecordReference(text: name, what: "habit").shown
        throw CommandFailure.usage(
            "there is a habit \"\(shown)\" (\(RecordReference.short(known.id))); give another name, or add --same-name"
        )
    }

    /// The models with exactly this name.
    func models<M: PersistentModel>(_ type: M.Type, named name: String) throws -> [M] {
        let attribute = FilterExpression.attribute(AttributePath("name"))
        return try fetch(FetchDescriptor<M>(filter: .compare(.equal, attribute, .literal(.string(name)))))
    }

    /// The habit found by the first answer, even if it was renamed since or another one got its name: a followed answer stays about the
    /// same habit.
    ///
    /// - Parameter id: the identifier of that habit; set if it is nil.
    func habit(_ text: String, knownBy id: inout UUID?) throws -> Habit {
        guard let known = id else {
            let habit = try habit(text)
            id = habit.id
            return habit
        }
        guard let habit = try model(Habit.self, id: known) else {
            throw CommandFailure.usage("the habit that was followed was deleted")
        }
        return habit
    }

    /// The tag found by the first answer, like ``habit(_:knownBy:)``.
    ///
    /// - Returns: nil if it was deleted and there is no new tag with exactly this name.
    func tagID(_ text: String, knownBy id: inout UUID?) throws -> UUID? {
        if let known = id {
            if try model(Tag.self, id: known) != nil { return known }
            guard let again = try tag(exactly: text) else { return nil }
            id = again.id
        } else {
            id = try tag(text).id
        }
        return id
    }

    /// The tag with a name or an identifier.
    func tag(_ text: String) throws -> Tag {
        try model(text, "tag", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// The entry with an identifier.
    func entry(_ text: String) throws -> Entry {
        try model(text, "entry", hasName: false) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    /// The draft with an identifier.
    func draft(_ text: String) throws -> Draft {
        try model(text, "draft", hasName: false) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    private func model<M: PersistentModel>(
        _ text: String,
        _ what: String,
        hasName: Bool,
        _ candidate: (M) -> RecordReference.Candidate
    ) throws -> M {
        let reference = RecordReference(text: text, what: what)
        let byName = hasName ? try models(M.self, named: text).map(candidate) : []
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
