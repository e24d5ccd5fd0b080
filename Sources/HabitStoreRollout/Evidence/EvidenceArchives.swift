import Foundation
import HabitStore

/// The archived part of a user's evidence: files named `evidence-<first>-<last>.jsonl`, by the numbers of their records.
struct EvidenceArchives {
    let log: EvidenceLog
    /// The head that the log's first line follows.
    let before: EvidenceHead

    struct Archive {
        let name: String
        let summary: EvidenceSummary
        /// Whether it ends with the head that the next file follows.
        let isFollowed: Bool
    }

    static func name(_ first: Int, _ last: Int) -> String { "evidence-\(first)-\(last).jsonl" }

    /// Whether an archive contains a head, as far as the archives can be trusted.
    func contains(_ anchor: EvidenceHead) throws -> Bool {
        var isThere = false
        try forEach(anchor: anchor) { archive in
            isThere = archive.isFollowed && archive.summary.containsAnchor
            return !isThere && archive.isFollowed
        }
        return isThere
    }

    /// Reads the archives, the last one first, until `body` returns false.
    ///
    /// - Returns: the head that the oldest file follows, if the archive that ends with it is missing; nil if none is missing.
    @discardableResult
    func forEach(anchor: EvidenceHead? = nil, _ body: (Archive) throws -> Bool) throws -> EvidenceHead? {
        let names = try names()
        var due: EvidenceHead? = before
        while let end = due {
            guard let name = names[end.sequence] else { return end }
            let file = try EvidenceFile(EvidenceFile.beside(log.path, name), .read)
            var summary = EvidenceSummary(EvidenceTrust(anchor: anchor), start: 0, identity: nil)
            try summary.read(file)
            guard try body(Archive(name: name, summary: summary, isFollowed: summary.head == end)) else { return nil }
            // Each must begin before it ends, or this would not terminate.
            due = summary.before.flatMap { $0.sequence < end.sequence ? $0 : nil }
        }
        return nil
    }

    /// The archives' names by their last record; if several share it, the longest.
    private func names() throws -> [Int: String] {
        let folder = URL(fileURLWithPath: log.path).deletingLastPathComponent().path
        var found: [Int: (first: Int, name: String)] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "evidence", let first = Int(parts[1]),
                let last = Int(parts[2].replacing(".jsonl", with: "")), name == Self.name(first, last),
                found[last].map({ first < $0.first }) ?? true
            else { continue }
            found[last] = (first, name)
        }
        return found.mapValues(\.name)
    }
}
