import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The evidence of a user who belongs to no machine: the store that serves keeps its lines, and the file in the folder is a copy,
/// to which this machine adds first.
///
/// The lines that the store has come first. What was added here meanwhile, while the server was away or another machine added lines
/// of its own, follows them as new lines with the times that it happened at: nothing that speaks against a user is lost by it.
/// Nobody has vouched for such lines in the places that they come to, so that none of them speaks for the user.
struct SharedEvidence {
    /// A line whose own hash is right.
    fileprivate struct Line {
        let head: EvidenceHead
        let previous: String
        let bytes: [UInt8]

        var row: EvidenceRow { EvidenceRow(number: Int64(head.sequence), line: bytes) }

        /// - Throws: ``HabitStoreError/Code/corrupt`` for bytes that are no line.
        init(_ bytes: [UInt8], path: String) throws {
            guard let place = bytes.withUnsafeBytes(EvidenceLine.place) else {
                throw HabitStoreError(
                    .corrupt,
                    "the evidence has a damaged line: `habitstore rollout evidence verify --user U` shows where",
                    at: .init(path: path)
                )
            }
            (head, previous, self.bytes) = (place.head, place.previous, bytes)
        }

        func follows(_ line: Line) -> Bool {
            previous == line.head.hash && head.sequence == line.head.sequence.addingSaturated(1)
        }
    }

    private static let pageLines = 1_000
    private static let mostAttempts = 20

    let log: EvidenceLog
    let store: any UserStoreBackend
    /// Where the store is.
    let place: String

    /// Brings the file and the store to the same lines.
    ///
    /// - Returns: the last line that both are known to have.
    /// - Throws: ``HabitStoreError/Code/busy`` where others add lines all the time; what a store or the system refuses.
    @discardableResult
    func synchronize() throws -> EvidenceHead {
        for _ in 0..<Self.mostAttempts {
            let mine = try log.head()
            if try last()?.head ?? .start == mine { return mine }
            try even()
        }
        throw HabitStoreError(.busy, "other machines add evidence all the time; try again", at: .init(path: log.path))
    }

    /// Adds events, which nobody else has come between: others know them in the places that they have here.
    ///
    /// - Parameter trust: what a checkpoint is written by, asked for where one is due; nil for none now.
    /// - Returns: what was written; nil where others add lines all the time.
    /// - Throws: what a store or the system refuses; nothing is written then.
    func add(
        _ events: [EvidenceEvent],
        at time: Date,
        anchor: EvidenceHead?,
        trust: () -> EvidenceTrust?
    ) throws -> EvidenceStretch? {
        for _ in 0..<Self.mostAttempts {
            try synchronize()
            let file = try EvidenceFile(log.path, .append)
            let (tail, known) = (try file.tail(), try last())
            guard tail.head == known?.head ?? .start else { continue }
            let stretch = try log.add(events, to: file, at: time, anchor: anchor, trust: trust).stretch
            let lines = try lines(of: file, tail.length..<(try file.size()), isWhole: true)
            do {
                if try push(lines, behind: known) { return stretch }
            } catch {
                // The lines are in the file: whoever looks next shares them, or says why that cannot be.
                return stretch
            }
            try file.write([], at: tail.length)
        }
        return nil
    }

    private func last() throws -> Line? {
        try store.replicaRead { try $0.evidence(from: nil, limit: 1) }.first.map { try Line($0.line, path: place) }
    }

    /// Has the store, or the file, take what it lacks; nothing is done where somebody else has added lines meanwhile.
    private func even() throws {
        let file = try EvidenceFile(log.path, .append)
        let known = try last()
        let mine = try lines(of: file, from: known?.head.sequence ?? 0)
        if let known, let place = mine.firstIndex(where: { $0.head == known.head }) {
            _ = try push(Array(mine[(place + 1)...]), behind: known)
        } else if known == nil || begin(mine, behind: known) {
            _ = try push(mine, behind: known)
        } else {
            try take(file)
        }
    }

    /// Whether a chain was begun anew here, or its earlier lines are archived.
    private func begin(_ mine: [Line], behind known: Line?) -> Bool {
        guard let first = mine.first else { return false }
        return first.head.sequence > (known?.head.sequence ?? 0) && first.beginsChain
    }

    /// The lines of the file, at least those from a number on.
    private func lines(of file: borrowing EvidenceFile, from number: Int) throws -> [Line] {
        let size = try file.size()
        var start = max(0, size - EvidenceLog.checkpointEveryBytes)
        while true {
            let lines = try lines(of: file, start..<size, isWhole: start == 0)
            if start == 0 || lines.first.map({ $0.head.sequence <= number }) ?? false { return lines }
            start = max(0, start - 16 * EvidenceLog.checkpointEveryBytes)
        }
    }

    /// - Parameter isWhole: whether a line begins where the range does.
    private func lines(of file: borrowing EvidenceFile, _ range: Range<Int>, isWhole: Bool) throws -> [Line] {
        var lines: [Line] = []
        var isRest = !isWhole
        try file.forEachPart(range) { part, _ in
            defer { isRest = false }
            // What a crash has left at the end is taken off by the next append.
            guard !isRest, case .line(let bytes) = part else { return }
            lines.append(try Line(Array(bytes), path: log.path))
        }
        return lines
    }

    /// Adds lines to the store, behind its last one.
    ///
    /// - Returns: false where somebody else has added lines meanwhile.
    private func push(_ lines: [Line], behind known: Line?) throws -> Bool {
        guard !lines.isEmpty else { return true }
        return try store.replicate { replica in
            guard try replica.evidence(from: nil, limit: 1).first == known?.row else { return false }
            try replica.addEvidence(lines.map(\.row))
            return true
        }
    }

    /// Takes over what the store has and the file has not. What the file has beyond where they part follows it anew, and the store
    /// is to be told of that.
    private func take(_ file: borrowing EvidenceFile) throws {
        let mine = try lines(of: file, 0..<(try file.size()), isWhole: true)
        let theirs = try store.replicaRead { replica in
            var lines: [Line] = []
            var next = Int64(mine.first?.head.sequence ?? 0)
            while true {
                let page = try replica.evidence(from: next, limit: Self.pageLines)
                lines += try page.map { try Line($0.line, path: place) }
                guard page.count == Self.pageLines, let last = page.last else { return lines }
                next = last.number + 1
            }
        }
        let common = zip(mine, theirs).prefix { $0.head == $1.head }.count
        // What was begun anew has a file of its own.
        let start = theirs.indices.dropFirst().last { !theirs[$0].follows(theirs[$0 - 1]) } ?? 0
        var bytes = theirs[start...].flatMap(\.bytes)
        var head = theirs.last?.head ?? .start
        for line in mine[common...] {
            let record = try line.bytes.withUnsafeBytes(EvidenceLine.parse)
            // A checkpoint sums up lines that stand elsewhere now.
            if case .checkpoint = record.event { continue }
            let content = try EvidenceLine.content(record.event, at: record.time)
            let added = try EvidenceLine.make(content, after: head, seal: log.seal)
            bytes += added.bytes
            head = added.head
        }
        if start == 0, common == mine.count, let last = mine.last, let tail = theirs[common...].first,
            tail.follows(last)
        {
            try file.write(theirs[common...].flatMap(\.bytes), at: try file.tail().length)
        } else {
            if common < mine.count || start > 0, !mine.isEmpty { try file.keep(as: log.freeName()) }
            try EvidenceFile.replace(log.path, with: bytes)
        }
    }
}

extension SharedEvidence.Line {
    /// Whether a file may begin with it.
    fileprivate var beginsChain: Bool {
        switch try? bytes.withUnsafeBytes(EvidenceLine.parse).event {
        case .checkpoint, .reset: true
        default: head.sequence == 1
        }
    }
}
