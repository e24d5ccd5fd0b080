import Foundation
import HabitStore

/// What of a user's evidence was put into files of its own: `evidence-<first>-<last>.jsonl`, by the numbers of their records.
struct EvidenceArchives {
    /// The archives' log.
    let log: EvidenceLog
    /// What the log's first line follows.
    let before: EvidenceHead

    /// An archive that was read.
    struct Archive {
        let name: String
        let summary: EvidenceSummary
        /// Whether it ends with what the next file follows.
        let isFollowed: Bool
    }

    static func name(_ first: Int, _ last: Int) -> String { "evidence-\(first)-\(last).jsonl" }

    /// Whether one of them has come by a place, as far as they can be believed.
    func contains(_ anchor: EvidenceHead) throws -> Bool {
        var isThere = false
        try forEach(anchor: anchor) { archive in
            isThere = archive.isFollowed && archive.summary.containsAnchor
            return !isThere && archive.isFollowed
        }
        return isThere
    }

    /// Reads the archives, the last one first, as long as `body` wants to go on.
    ///
    /// - Returns: what the last one that is there follows, and is in none; nil where nothing is missing.
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
            // Each begins before it ends, or there would be no end to this.
            due = summary.before.flatMap { $0.sequence < end.sequence ? $0 : nil }
        }
        return nil
    }

    /// The archives' names by their last record; of several, the one that has most.
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
