import Foundation

/// Clean shadow reads by time, in a bounded number of groups, since a checkpoint has to hold them.
struct CleanReads: Sendable, Hashable, Codable {
    /// Reads that are neighbours in time.
    struct Group: Sendable, Hashable, Codable {
        var earliest: EvidenceInstant
        var latest: EvidenceInstant
        var count: Int
    }

    static let maximumGroups = 64

    /// In the order of recording.
    private(set) var groups: [Group] = []

    /// Adds reads. If that makes too many groups, two neighbours are joined: those with the shortest common span relative to their age, so that
    /// recent groups stay exact.
    mutating func add(_ count: Int, at time: Date) {
        let time = EvidenceInstant(time)
        groups.append(Group(earliest: time, latest: time, count: count))
        guard groups.count > Self.maximumGroups else { return }
        let now = groups.map(\.latest).max() ?? time
        let pair = (0..<groups.count - 1).min { cost($0, now) < cost($1, now) } ?? 0
        let second = groups.remove(at: pair + 1)
        groups[pair].earliest = min(groups[pair].earliest, second.earliest)
        groups[pair].latest = max(groups[pair].latest, second.latest)
        groups[pair].count = groups[pair].count.addingSaturated(second.count)
    }

    mutating func removeAll() { groups = [] }

    /// The number of reads.
    var all: Int { groups.reduce(0) { $0.addingSaturated($1.count) } }

    /// The number of reads whose time counts. A group counts if both its ends do.
    func count(where counts: (Date) -> Bool) -> Int {
        groups.filter { counts($0.earliest.date) && counts($0.latest.date) }.reduce(0) { $0.addingSaturated($1.count) }
    }

    /// The loss of precision from joining a group with the next one.
    private func cost(_ index: Int, _ now: EvidenceInstant) -> Double {
        let (first, second) = (groups[index], groups[index + 1])
        let span = max(first.latest, second.latest).date.timeIntervalSince(min(first.earliest, second.earliest).date)
        return span / (1 + now.date.timeIntervalSince(min(first.earliest, second.earliest).date))
    }
}
