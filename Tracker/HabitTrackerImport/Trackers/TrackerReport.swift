import HabitStoreImport

/// What an import found and did, by name and count.
public struct TrackerReport: Sendable, Codable, Equatable {
    /// How many records of an entity there were.
    public struct Count: Sendable, Codable, Equatable {
        /// In the source.
        public var inSource = 0
        /// New here.
        public var added = 0
        /// Here already.
        public var known = 0
        /// Here already, and different: left as they are, unless they were to be taken over.
        public var differing = 0
    }

    /// How often something named was found.
    public struct Finding: Sendable, Codable, Equatable {
        /// What it is.
        public let name: String
        /// How often.
        public let count: Int
    }

    /// What proves that something of the source is missing, or was not read.
    public struct Loss: Sendable, Codable, Equatable {
        /// A stable name, one of ``kinds``.
        public let kind: String
        /// One sentence. Holds no values of records.
        public let message: String
        /// How often.
        public let count: Int

        /// All names.
        public static let kinds =
            CoreDataImportReport.Shortfall.fileKinds + ["fileCut", "habitMissing", "marksMissing"]
    }

    /// What it came to to hold the store against the source once more.
    public struct Verification: Sendable, Codable, Equatable {
        /// Whether what can be compared is equal.
        public var isEqual: Bool
        /// Habits of the source whose entries were counted and summed on both sides.
        public var habits: Int
        /// Entries on both sides, as the source counts them.
        public var entries: Int
        /// What is different, in words without the user's.
        public var differences: [String]
        /// Why most of the source, or of one of its habits, became no record; empty where most did.
        public var setAside: [String] = []
    }

    /// The form of the source.
    public let format: TrackerFormat
    /// Where it is.
    public let path: String
    /// How many rows of each kind there are in the source.
    public var rows: [Finding] = []
    /// Habits.
    public var habits = Count()
    /// Entries.
    public var entries = Count()
    /// Tags.
    public var tags = Count()
    /// What is kept beside the store, by name.
    public var kept: [Finding] = []
    /// How many rows of the source are kept beside the store because they are no records.
    public var keptRows = 0
    /// What proves that something of the source is missing, or was not read.
    public var losses: [Loss] = []
    /// What is odd in the source, by name.
    public var oddities: [Finding] = []
    /// The file in which that is; nil when there is nothing.
    public var attachment: String?
    /// The comparison afterwards; nil for a rehearsal.
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
