import HabitStoreImport

/// The findings and results of an import, by name and count.
public struct TrackerReport: Sendable, Codable, Equatable {
    /// The record counts of an entity.
    public struct Count: Sendable, Codable, Equatable {
        /// Records in the source.
        public var inSource = 0
        /// Records added to the store.
        public var added = 0
        /// Records that were already in the store and equal.
        public var known = 0
        /// Records that were already in the store and differ; they are kept unless updates were requested.
        public var differing = 0
    }

    /// A named finding and its number of occurrences.
    public struct Finding: Sendable, Codable, Equatable {
        /// The name of the finding.
        public let name: String
        /// The number of occurrences.
        public let count: Int
    }

    /// Evidence that a part of the source is missing or was not read.
    public struct Loss: Sendable, Codable, Equatable {
        /// A stable name, one of ``kinds``.
        public let kind: String
        /// One sentence without record values.
        public let message: String
        /// The number of occurrences.
        public let count: Int

        /// All values of ``kind``.
        public static let kinds =
            CoreDataImportReport.Shortfall.fileKinds + ["fileCut", "habitMissing", "marksMissing"]
    }

    /// The result of comparing the store with the source after the import.
    public struct Verification: Sendable, Codable, Equatable {
        /// Whether everything that can be compared is equal.
        public var isEqual: Bool
        /// Habits of the source whose entries were counted and summed on both sides.
        public var habits: Int
        /// The number of entries on both sides, as counted in the source.
        public var entries: Int
        /// The differences, in words without user data.
        public var differences: [String]
        /// Why most of the source, or of one of its habits, became no record; empty if most of it did.
        public var setAside: [String] = []
    }

    /// The format of the source.
    public let format: TrackerFormat
    /// The path of the source.
    public let path: String
    /// The number of rows of each kind in the source.
    public var rows: [Finding] = []
    /// Habits.
    public var habits = Count()
    /// Entries.
    public var entries = Count()
    /// Tags.
    public var tags = Count()
    /// What is kept next to the store, by name.
    public var kept: [Finding] = []
    /// The number of rows kept next to the store because they are not records.
    public var keptRows = 0
    /// Evidence that a part of the source is missing or was not read.
    public var losses: [Loss] = []
    /// The oddities of the source, by name.
    public var oddities: [Finding] = []
    /// The file with what is kept next to the store; nil if there is none.
    public var attachment: String?
    /// The result of the comparison after the import; nil for a rehearsal.
    public var verification: Verification?

    init(format: TrackerFormat, path: String, counts: [(name: String, count: Int)]) {
        self.format = format
        self.path = path
        rows = counts.map { Finding(name: $0.name, count: $0.count) }
    }

    mutating func count(_ changes: TrackerChanges) {
        (habits.added, habits.known, habits.differing) =
            (changes.newHabits.count, changes.sameHabits, changes.changedHabits.count)
        (entries.added, entries.known, entries.differing) =
            (changes.newEntries.count, changes.sameEntries, changes.changedEntries.count)
        (tags.added, tags.known) = (changes.newTags.count, changes.sameTags)
    }

    mutating func sort() {
        kept.sort { $0.name < $1.name }
        oddities.sort { $0.name < $1.name }
    }
}
