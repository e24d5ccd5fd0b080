import DurableFiles
import Foundation
import HabitStore

/// The result of an import.
public struct CoreDataImportReport: Sendable, Encodable {
    /// How the import was done.
    public enum Mode: String, Sendable, Encodable {
        /// Fills an empty target, including the source's history.
        case first
        /// Follows the source's history transaction by transaction from the target's position.
        case followed
        /// Compares every record with the target's.
        case compared
    }

    /// The outcome for the records of one entity.
    public struct Entity: Sendable, Encodable {
        /// The entity in the source.
        public let source: String
        /// The entity in the target; nil if it is not imported.
        public let target: String?
        /// The number of records in the source.
        public internal(set) var records = 0
        /// Records inserted into the target.
        public internal(set) var inserted = 0
        /// Records whose values differed in the target.
        public internal(set) var updated = 0
        /// Records that the target cannot hold; the attachment has them.
        public internal(set) var refused = 0
    }

    /// Values that are in the attachment instead of the target.
    public struct Loss: Sendable, Encodable, Hashable {
        /// The entity in the source.
        public let entity: String
        /// The attribute or relationship in the source; nil for whole records.
        public let property: String?
        /// The reason.
        public let reason: String
        /// The number of values.
        public internal(set) var count: Int
        let kind: ImportLoss.Kind
    }

    /// How the import was done.
    public internal(set) var mode = Mode.compared
    /// The entities, in the order of the source.
    public internal(set) var entities: [Entity] = []
    /// Records deleted in the target because the source's history records their deletion.
    public internal(set) var deleted = 0
    /// Records of the target that the source no longer has. They are kept, since nothing proves that they were deleted.
    public internal(set) var gone = 0
    /// Texts that were converted to NFC.
    public internal(set) var normalizedTexts = 0
    /// Texts in which NFC replaces characters; the attachment has the originals.
    public internal(set) var replacedTexts = 0
    /// Source transactions that were imported.
    public internal(set) var transactions = 0
    /// The changes in those transactions.
    public internal(set) var changes = 0
    /// The deletions among the changes.
    public internal(set) var tombstones = 0
    /// The last source transaction that the target contains; nil for a source without a history.
    public internal(set) var position: Int64?
    /// Values that are not in the target.
    public internal(set) var losses: [Loss] = []
    /// Values that are in the target but not as expected.
    public internal(set) var odd: [Loss] = []
    /// Parts of the file that are neither in the store nor in the attachment.
    public internal(set) var notCarried: [NotCarried] = []
    /// Evidence that something is missing, was not read, or is wrong, by kind.
    public internal(set) var shortfalls: [Shortfall] = []
    /// The path of the attachment; nil if there is none.
    public internal(set) var attachment: String?
    /// Missing, guessed or unusual things about the source.
    public internal(set) var oddities: [CoreDataOddity] = []

    /// The number of values in the attachment.
    public var lost: Int { losses.reduce(0) { $0 + $1.count } }

    init(_ plan: CoreDataPlan, _ file: CoreDataFile) throws {
        oddities = file.oddities + plan.oddities
        for entity in file.model.entities {
            let target = plan.entity(number: entity.number).map { plan.schema.entities[$0.target].name }
            var item = Entity(source: entity.name, target: target)
            item.records = try file.count(of: entity)
            entities.append(item)
        }
    }

    mutating func count(_ losses: [ImportLoss]) { Self.count(losses, in: &self.losses) }

    mutating func count(odd: [ImportLoss]) { Self.count(odd, in: &self.odd) }

    private static func count(_ losses: [ImportLoss], in counts: inout [Loss]) {
        for loss in losses {
            if let place = counts.firstIndex(where: {
                $0.entity == loss.entity && $0.property == loss.property && $0.reason == loss.reason
            }) {
                counts[place].count += 1
            } else {
                counts.append(
                    Loss(entity: loss.entity, property: loss.property, reason: loss.reason, count: 1, kind: loss.kind)
                )
            }
        }
    }

    mutating func note(_ source: String, _ change: (inout Entity) -> Void) {
        guard let place = entities.firstIndex(where: { $0.source == source }) else { return }
        change(&entities[place])
    }
}

extension CoreDataImportReport {
    /// Evidence that a part of the source is missing, was not read, or is wrong.
    public struct Shortfall: Sendable, Hashable, Encodable {
        /// A stable name, one of ``kinds``.
        public let kind: String
        /// One sentence without record values.
        public let message: String
        /// The number of occurrences.
        public let count: Int

        /// All values of ``kind``.
        public static let kinds: [String] =
            fileKinds + losses.keys.map(\.rawValue).sorted() + ["tableNotRead", mostlyRefused]

        static let mostlyRefused = "mostlyRefused"

        /// The kinds found in the file itself, regardless of the mapping.
        package static let fileKinds = [
            "logTruncated", "logInvalid", "logForeign", "logOlder", "logDamaged", "logUnfinished", "logNeverCommitted",
            "pagesUncounted", "tableUnreadable",
        ]

        static let losses: [ImportLoss.Kind: String] = [
            .otherType: "values of another type than their attribute",
            .malformedText: "texts that are not UTF-8",
            .externalDataMissing: "values whose external file is missing",
            .keyUnusable: "rows without a key, or with that of another row",
            .unknownToModel: "values, rows or links that belong to nothing in the model",
        ]
    }

    /// The shortfalls, by kind.
    func findShortfalls() -> [Shortfall] {
        var result = oddities.filter { Shortfall.fileKinds.contains($0.kind) }.map {
            Shortfall(kind: $0.kind, message: $0.message, count: $0.count ?? 1)
        }
        for (kind, words) in Shortfall.losses.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let found = (losses + odd).filter { $0.kind == kind }
            let count = found.reduce(0) { $0 + $1.count }
            guard count > 0 else { continue }
            let names = found.map { [$0.entity, $0.property].compactMap { $0 }.joined(separator: ".") }.uniqued()
            let message = "\(count) \(words): \(names.listed())"
            result.append(Shortfall(kind: kind.rawValue, message: message, count: count))
        }
        for item in notCarried where item.isUnknown {
            let message = "the table \(item.table) is not read (\(item.count) rows): \(item.reason)"
            result.append(Shortfall(kind: "tableNotRead", message: message, count: item.count))
        }
        return result + [mostRecordsRefused].compactMap { $0 }
    }

    /// A mapping that refuses more than half the records of the mapped entities does not fit the file.
    private var mostRecordsRefused: Shortfall? {
        let wanted = entities.filter { $0.target != nil }
        let (all, refused) = (wanted.reduce(0) { $0 + $1.records }, wanted.reduce(0) { $0 + $1.refused })
        guard 2 * refused > all else { return nil }
        let message = "\(refused) of \(all) records were refused; they are in the attachment"
        return Shortfall(kind: Shortfall.mostlyRefused, message: message, count: refused)
    }
}

/// A part of a source that an import keeps neither in the store nor in the attachment.
public struct NotCarried: Sendable, Hashable, Codable {
    /// The table.
    public let table: String
    /// The column; nil for the whole table.
    public let column: String?
    /// The number of values, or of rows for a whole table.
    public let count: Int
    /// The reason.
    public let reason: String
    /// Whether the import does not know what the part is.
    public let isUnknown: Bool
}

/// The file that lists what an import left out, for later comparisons of store and source.
struct ImportStatement {
    struct Contents: Codable {
        var format = 1
        let notCarried: [NotCarried]
    }

    let path: String

    func write(_ notCarried: [NotCarried]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(Contents(notCarried: notCarried)) + Data("\n".utf8)
        try FileFailure.mappingErrors { try DurableFile.replace(path, bytes) }
    }
}
