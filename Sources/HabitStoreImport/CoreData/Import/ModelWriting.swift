import Foundation
@_spi(Engines) import HabitStore

extension WriteTransaction {
    /// Stores an encoded record through its Swift type, so that all rules for models apply.
    func save(_ record: EncodedRecord, entity: Int) throws {
        try save(record, schema.entities[entity].modelType, entity)
    }

    private func save<M: PersistentModel>(_ record: EncodedRecord, _ type: M.Type, _ entity: Int) throws {
        try record.withView(schema.entities[entity].layout) { view in
            var reader = view.reader
            try save(try M(row: &reader))
        }
    }

    /// Deletes the record with an identifier, applying the delete rules.
    func deleteRecord(_ id: UUID, entity: Int) throws -> Bool { try delete(id, schema.entities[entity].modelType) }

    private func delete<M: PersistentModel>(_ id: UUID, _ type: M.Type) throws -> Bool { try delete(type, id: id) }
}

extension ReadTransaction {
    /// The encoded record; nil if there is none.
    func encodedRecord(_ id: UUID, entity: Int) throws -> EncodedRecord? {
        var record: EncodedRecord?
        _ = try withRow(entity: entity, id: id) { record = try $0.encoded() }
        return record
    }
}
