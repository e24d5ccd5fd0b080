import HabitStore

/// What an import came to.
public struct CoreDataImportReport: Sendable, Encodable {
    /// How the import went about it.
    public enum Mode: String, Sendable, Encodable {
        /// Into an empty target, with the source's history.
        case first
        /// Transaction by transaction of the source's history, from where the target was.
        case followed
        /// Every record was compared with the target's.
        case compared
    }

    /// What became of one entity's records.
    public struct Entity: Sendable, Encodable {
        /// The entity in the source.
        public let source: String
        /// The entity in the target; nil when it is not brought over.
        public let target: String?
        /// How many records the source has.
        public internal(set) var records = 0
        /// Those that were new to the target.
        public internal(set) var inserted = 0
        /// Those that had other values in the target.
        public internal(set) var updated = 0
        /// Those that the target cannot hold; they are in the attachment.
        public internal(set) var refused = 0
    }

    /// Values that are in the attachment and not in the target.
    public struct Loss: Sendable, Encodable, Hashable {
        /// The entity in the source.
        public let entity: String
        /// The attribute or relationship there; nil for whole records.
        public let property: String?
        /// Why.
        public let reason: String
        /// How many.
        public internal(set) var count: Int
        /// What it counts as.
        let kind: ImportLoss.Kind
    }

    /// How it went about it.
    public internal(set) var mode = Mode.compared
    /// The entities, in the source's order.
    public internal(set) var entities: [Entity] = []
    /// Records that the source's history proves to be deleted, and that were deleted in the target.
    public internal(set) var deleted = 0
    /// Records of the target that the source no longer has, and that were left: nothing proves that they were deleted.
    public internal(set) var gone = 0
    /// Texts that were in another form of Unicode, and are in NFC now.
    public internal(set) var normalizedTexts = 0
    /// Texts of which NFC replaces characters; the attachment has the originals.
    public internal(set) var replacedTexts = 0
    /// Transactions of the source's history that were carried over.
    public internal(set) var transactions = 0
    /// The changes in them.
    public internal(set) var changes = 0
    /// The deletions among these.
    public internal(set) var tombstones = 0
    /// The last transaction of the source that the target has; nil for a source without a history.
    public internal(set) var position: Int64?
    /// What is not in the target, by name and count.
    public internal(set) var losses: [Loss] = []
    /// What is in the target and not as it should be, by name and count.
    public internal(set) var odd: [Loss] = []
    /// What of the file is neither in the store nor in the attachment, by name and count.
    public internal(set) var notCarried: [NotCarried] = []
    /// What proves that something is missing, was not read, or is not what it should be; by kind.
    public internal(set) var shortfalls: [Shortfall] = []
    /// Where it is kept; nil when there is nothing to keep.
    public internal(set) var attachment: String?
    /// What is missing, guessed or odd about the source.
    public internal(set) var oddities: [CoreDataOddity] = []

    /// How many values are in the attachment.
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
