import Foundation
import HabitStoreReports
import HabitStoreRollout

/// A user's evidence, and whether it is intact.
struct EvidenceReport: Encodable {
    /// A record with its time as written in the file.
    struct Record: Encodable {
        let sequence: Int
        let time: String
        let event: EvidenceEvent
        let previous: String
        let hash: String
    }

    let user: String
    let path: String
    let isIntact: Bool
    /// The first line that was changed.
    let damage: EvidenceChain.Damage?
    /// Whether it ends before the point that the stores remember.
    let isCutOff: Bool
    /// The lines in the user's favour that do not count.
    let uncounted: EvidenceLog.Uncounted
    /// The size of a partial line that a crash left; its write was never acknowledged.
    let tornBytes: Int
    /// How many records there are.
    let recordCount: Int
    /// The newest records.
    let records: [Record]
    private let lines: Int
    private let times: [Date]

    private enum CodingKeys: CodingKey {
        case user, path, isIntact, damage, isCutOff, uncounted, tornBytes, recordCount, records
    }

    init(user: String, path: String, listing: EvidenceListing, isCutOff: Bool, uncounted: EvidenceLog.Uncounted) {
        self.uncounted = uncounted
        self.user = user
        self.path = path
        isIntact = listing.isIntact && !isCutOff
        self.isCutOff = isCutOff
        damage = listing.damage
        tornBytes = listing.tornBytes
        recordCount = listing.count
        lines = listing.lines
        times = listing.records.map(\.time)
        records = listing.records.map { record in
            Record(
                sequence: record.sequence,
                time: ISODate.instant(record.time),
                event: record.event,
                previous: record.previous,
                hash: record.hash
            )
        }
    }

    /// A row for each record, and how to check a line by hand.
    func text(_ options: TerminalOptions, timeZone: TimeZone) -> String {
        guard recordCount > 0 || !isIntact else { return "there is no evidence yet\n" }
        var table = TextTable([
            .init("#", alignment: .right), .init("time", canShrink: false), .init("hash", canShrink: false),
            .init("what"), .init("details"),
        ])
        for (record, time) in zip(records, times) {
            let words = record.event.words
            table.append([
                String(record.sequence), ISODate.local(time, in: timeZone), String(record.hash.prefix(12)), words.what,
                words.details,
            ])
        }
        var text = table.text(options) + "\n"
        if let damage {
            text += "DAMAGED: line \(damage.line): \(TerminalText.escaped(damage.reason)); it proves nothing any more\n"
        } else if isCutOff {
            text += "DAMAGED: it ends before what the stores remember of it; lines are missing at its end\n"
        } else {
            text += "intact: \(recordCount.counted("record")), each with the hash of the one before it\n"
        }
        if let sentence = uncounted.sentence { text += "NOT COUNTED: \(sentence)\n" }
        if recordCount > records.count {
            text += "the newest \(records.count) of \(recordCount.counted("record")) are listed; --limit lists more\n"
        }
        let line = damage?.line ?? lines
        guard line > 0 else { return text }
        let file = "'" + path.replacing("'", with: #"'\''"#) + "'"
        text +=
            "by hand: `sed -n \(line)p \(TerminalText.escaped(file)) | cut -b 76- | sha256sum` prints the hash that "
        text += "line \(line) states, and that the next one has as \"previous\"\n"
        return text
    }
}
