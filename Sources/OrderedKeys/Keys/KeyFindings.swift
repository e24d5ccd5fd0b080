import Foundation
@_spi(Engines) import HabitStore

/// The findings of a check of a store's records, index keys and history, and the checks that all engines with ordered keys share.
package struct KeyFindings {
    /// More findings would not help.
    private static let most = 1_000

    package private(set) var findings: [StoreFinding] = []
    private let schema: Schema
    private let textIsCanonical: Bool
    private let path: String
    private var transaction = (token: Int64(0), missing: 0, next: UInt64(0))

    /// - Parameter textIsCanonical: whether the store declares all of its text to be in NFC. Stores of the first versions do not.
    package init(_ schema: Schema, textIsCanonical: Bool, path: String) {
        (self.schema, self.textIsCanonical, self.path) = (schema, textIsCanonical, path)
    }

    /// Adds a finding of damage.
    package mutating func report(_ kind: String, _ message: String, _ table: KeyTable? = nil, _ id: UUID? = nil) {
        add(StoreFinding(.damage, kind, message, entity: table?.name, id: id))
    }

    /// Nothing else reports a missing index: queries still answer correctly, only slowly.
    package mutating func reportMissing(_ index: KeyIndex, _ table: KeyTable) {
        findings.append(
            StoreFinding(
                .anomaly,
                "indexMissing",
                "the index \(index.title) is missing, so that some queries take longer",
                entity: table.name
            )
        )
    }

    private mutating func add(_ finding: StoreFinding) {
        if findings.count < Self.most { findings.append(finding) }
    }

    // MARK: Records

    /// Checks that a record's bytes are what encoding its values gives: equal records have equal bytes, with nothing between or
    /// after their parts.
    package mutating func checkForm(_ row: RecordView, _ table: KeyTable, _ id: UUID?) throws {
        let values = try table.layout.kinds.indices.map { try row.value(at: $0) }
        var isInNFC = true
        for position in table.layout.kinds.indices where try !row.isTextInNFC(at: position) {
            isInNFC = false
            let attribute = schema.entities[table.number].attributes[position].name
            add(
                StoreFinding(
                    textIsCanonical ? .damage : .anomaly,
                    "nonCanonicalText",
                    "\(table.name).\(attribute) is not in Unicode NFC"
                        + (textIsCanonical
                            ? ", and the store says that all of its text is" : "; it is read as if it were"),
                    entity: table.name,
                    id: id,
                    attribute: attribute
                )
            )
        }
        // Text in another normalization form has other bytes.
        guard isInNFC, try EncodedRecord(values, layout: table.layout).bytes.elementsEqual(row.bytes) == false else {
            return
        }
        report(
            "recordDamaged",
            "\(table.name): a record's bytes are not those that its values are written as",
            table,
            id
        )
    }

    // MARK: History

    /// Checks the history's records in order: each transaction has a header, and exactly as many changes as it says.
    package mutating func checkHistory(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        do {
            let key = try HistoryKey(key, path: path)
            if key.sequence == 0 {
                finishHistory()
                transaction = (key.token, try HistoryCoder.header(value, path: path).changes, 1)
                return
            }
            if key.token != transaction.token || key.sequence != transaction.next || transaction.missing == 0 {
                report("historyDamaged", "transaction \(key.token) has a change that is not its own")
            }
            transaction.missing = max(0, transaction.missing - 1)
            transaction.next = key.sequence + 1
            _ = try HistoryCoder.change(value, path: path)
        } catch let error as HabitStoreError {
            report("historyDamaged", error.message)
        } catch {
            report("historyDamaged", "a record of the history cannot be read")
        }
    }

    /// Completes the check after the last record.
    package mutating func finishHistory() {
        guard transaction.missing > 0 else { return }
        report("historyDamaged", "transaction \(transaction.token) lacks \(transaction.missing) changes")
        transaction.missing = 0
    }
}
