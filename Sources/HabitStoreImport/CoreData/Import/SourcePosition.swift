import Foundation
import HabitStore

/// What a target knows of its source: which file, which version of the app's model, and how far it has come. It is a record
/// of the target, so that it changes in the same transaction as what it speaks of.
struct SourcePosition: Hashable {
    /// The source's identity.
    let storeID: String
    /// The hashes of the app's model, in one.
    var model: String
    /// The attributes that are identities, by their root entities.
    var identities: [String: String]
    /// The last transaction of the source that the target has; nil when the source has no history.
    var transaction: Int64?

    /// The identifier of the record: a source has one.
    var id: UUID { IdentityRule.derived(storeID: storeID, root: DerivedSchema.sourceEntity, key: 0) }

    init(storeID: String, model: String, identities: [String: String], transaction: Int64?) {
        (self.storeID, self.model, self.identities, self.transaction) = (storeID, model, identities, transaction)
    }

    /// Where a file is.
    init(_ file: CoreDataFile, identities: [String: String]) {
        self.init(
            storeID: file.metadata.storeID,
            model: file.modelHash,
            identities: identities,
            transaction: file.history?.last
        )
    }

    /// Reads what a target has written.
    init(_ values: [Value]) throws {
        guard values.count == 5, case .string(let storeID) = values[1], case .string(let model) = values[2],
            case .string(let text) = values[3],
            let identities = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        else {
            throw HabitStoreError(.corrupt, "what the store knows of its source cannot be read")
        }
        self.storeID = storeID
        self.model = model
        self.identities = identities
        transaction = if case .int(let number) = values[4] { number } else { nil }
    }

    /// The record.
    func record(_ layout: RecordLayout) throws -> EncodedRecord {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(identities), as: UTF8.self)
        return try EncodedRecord(
            [.uuid(id), .string(storeID), .string(model), .string(text), transaction.map { .int($0) } ?? .null],
            layout: layout
        )
    }
}
