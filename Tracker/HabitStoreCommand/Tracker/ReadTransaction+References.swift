import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

extension ReadTransaction {
    /// The habit that is meant by a name or an identifier.
    func habit(_ text: String) throws -> Habit {
        try model(text, "habit", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// Makes sure that a name is not taken: commands could name neither of two habits by it.
    ///
    /// - Parameter habit: the one that gets the name, which may have it.
    func requireNewName(_ name: String, for habit: UUID? = nil) throws {
        guard let known = try models(Habit.self, named: name).first(where: { $0.id != habit }) else { return }
        let shown = RecordReference(text: name, what: "habit").shown
        throw CommandFailure.usage(
            "there is a habit \"\(shown)\" (\(RecordReference.short(known.id))); give another name, or add --same-name"
        )
    }

    /// The models of an exact name.
    func models<M: PersistentModel>(_ type: M.Type, named name: String) throws -> [M] {
        let attribute = FilterExpression.attribute(AttributePath("name"))
        return try fetch(FetchDescriptor<M>(filter: .compare(.equal, attribute, .literal(.string(name)))))
    }

    /// The habit that was meant at first, by whatever name it goes now: an answer that is followed is about one habit, also when that
    /// is renamed, or another one gets its name.
    ///
    /// - Parameter id: that habit; found out where it is nil.
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

    /// The same for a tag.
    ///
    /// - Returns: nil where it was deleted, and none of its exact name was made since.
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

    /// The tag that is meant by a name or an identifier.
    func tag(_ text: String) throws -> Tag {
        try model(text, "tag", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// The entry that is meant by an identifier.
    func entry(_ text: String) throws -> Entry {
        try model(text, "entry", hasName: false) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    /// The draft that is meant by an identifier.
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
