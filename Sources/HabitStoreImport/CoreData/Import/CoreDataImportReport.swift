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
