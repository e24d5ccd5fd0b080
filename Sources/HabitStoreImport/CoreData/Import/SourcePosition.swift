import Foundation
@_spi(Engines) import HabitStore

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
    /// What tells the state of the source that the target was last equal to from an earlier one; nil in targets of earlier
    /// versions.
    var age: SourceAge?

    /// The identifier of the record: a source has one.
    var id: UUID { IdentityRule.derived(storeID: storeID, root: DerivedSchema.sourceEntity, key: 0) }

    init(
        storeID: String,
        model: String,
        identities: [String: String],
        transaction: Int64?,
        age: SourceAge? = nil
    ) {
        (self.storeID, self.model, self.identities) = (storeID, model, identities)
        (self.transaction, self.age) = (transaction, age)
    }

    /// Where a file is.
    init(_ file: CoreDataFile, identities: [String: String]) {
        self.init(
            storeID: file.metadata.storeID,
            model: file.modelHash,
            identities: identities,
            transaction: file.history?.last,
            age: file.age
        )
    }

    /// Reads what a target has written.
    init(_ values: [Value]) throws {
        guard [5, 6].contains(values.count), case .string(let storeID) = values[1], case .string(let model) = values[2],
            case .string(let text) = values[3],
            let identities = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        else {
            throw HabitStoreError(.corrupt, "what the store knows of its source cannot be read")
        }
        self.storeID = storeID
        self.model = model
        self.identities = identities
        transaction = if case .int(let number) = values[4] { number } else { nil }
        if values.count == 6, case .string(let text) = values[5] {
            age = try? JSONDecoder().decode(SourceAge.self, from: Data(text.utf8))
        }
    }

    /// The record; targets of earlier versions have no place for the age.
    func record(_ layout: RecordLayout) throws -> EncodedRecord {
        var values: [Value] = [
            .uuid(id), .string(storeID), .string(model), .string(try Self.json(identities)),
            transaction.map { .int($0) } ?? .null,
        ]
        if layout.kinds.count == 6 { values.append(try age.map { .string(try Self.json($0)) } ?? .null) }
        return try EncodedRecord(values, layout: layout)
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
