import HabitStore

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
