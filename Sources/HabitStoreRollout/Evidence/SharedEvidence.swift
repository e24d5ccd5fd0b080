import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The evidence of a user who belongs to no machine: the store that serves keeps its lines, and the file in the folder is a copy,
/// to which this machine adds first.
///
/// The lines that the store has come first. What was added here meanwhile, while the server was away or another machine added lines
/// of its own, follows them as new lines with the times that it happened at: nothing that speaks against a user is lost by it.
/// Nobody has vouched for such lines in the places that they come to, so that none of them speaks for the user.
///
/// Where both stores are on servers the other one is told of each line, too, as far as it can be reached: whoever takes the user there
/// finds them, whatever that machine knew. Lines are added to the store that serves only, so that the two have one numbering.
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

    /// The store that does not serve: nobody waits for one that hangs.
    struct Other {
        let pair: StorePair
        let engine: EngineName
        let limitSeconds: Double
        /// Is told that the store could not be asked.
        let onFailure: () -> Void

        /// - Returns: nil where the store is not there or cannot be asked now; whoever looks next asks it.
        func ask<R: Sendable>(_ body: @escaping @Sendable (any UserStoreBackend) throws -> R) -> R? {
            do {
                return try Deadline.run(seconds: limitSeconds, path: pair.address(engine).path) { [pair, engine] _ in
                    try body(pair.store(engine))
                }
            } catch let error as HabitStoreError where error.code == .notFound {
                return nil
            } catch {
                onFailure()
                return nil
            }
        }
    }

    private static let pageLines = 1_000
    private static let mostAttempts = 20

    let log: EvidenceLog
    let store: any UserStoreBackend
    /// The other store, where other machines reach it, too.
    let other: Other?
    /// Where the store is.
    let place: String

    /// Brings the file and the store to the same lines.
    ///
    /// - Returns: the last line that both are known to have.
    /// - Throws: ``HabitStoreError/Code/busy`` where others add lines all the time; what a store or the system refuses.
    @discardableResult
    func synchronize() throws -> EvidenceHead {
        try takeOver()
        for _ in 0..<Self.mostAttempts {
            let mine = try log.head()
            if try isEven(mine, lastRow()) {
                tellOther()
                return mine
            }
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
            let (tail, row) = (try file.tail(), try lastRow())
            guard isEven(tail.head, row) else { continue }
            let stretch = try log.add(events, to: file, at: time, anchor: anchor, trust: trust).stretch
            let lines = try lines(of: file, tail.length..<(try file.size()), isWhole: true)
            do {
                if try push(lines, behind: row) { return stretch }
            } catch {
                // The lines are in the file: whoever looks next shares them, or says why that cannot be.
                return stretch
            }
            try file.write([], at: tail.length)
        }
        return nil
    }

    /// The number of the last line that the store has, whatever that is.
    func lastNumber() throws -> Int { try lastRow().map { Int(clamping: $0.number) } ?? 0 }

    private func lastRow() throws -> EvidenceRow? { try Self.lastRow(of: store) }

    private static func lastRow(of store: any UserStoreBackend) throws -> EvidenceRow? {
        try store.replicaRead { try $0.evidence(from: nil, limit: 1) }.first
    }

    private static func rows(of store: any UserStoreBackend, from number: Int64) throws -> [EvidenceRow] {
        try store.replicaRead { replica in
            var rows: [EvidenceRow] = []
            var next = number
            while true {
                let page = try replica.evidence(from: next, limit: pageLines)
                rows += page
                guard page.count == pageLines, let last = page.last else { return rows }
                next = last.number + 1
            }
        }
    }

    /// Has the store take what the other one has beyond it: the user was taken here by a machine that could not tell it.
    private func takeOver() throws {
        guard let other else { return }
        let own = try lastRow()
        let found = other.ask { other -> [EvidenceRow] in
            guard let theirs = try Self.lastRow(of: other), theirs.number > own?.number ?? 0 else { return [] }
            return try Self.rows(of: other, from: own?.number ?? 0)
        }
        guard var rows = found, !rows.isEmpty else { return }
        if own != nil {
            guard rows.first == own else { return }
            rows.removeFirst()
        }
        _ = try Self.add(rows, to: store, behind: own)
    }

    /// Tells the other store of what this one has. What it has of its own stands in no file of a machine that went on from there.
    func tellOther() {
        _ = other?.ask { [store] other in
            let (own, theirs) = (try Self.lastRow(of: store), try Self.lastRow(of: other))
            guard let own, own != theirs else { return }
            var rows = try Self.rows(of: store, from: theirs?.number ?? 0)
            let isBehind = theirs == nil || rows.first == theirs
            if isBehind {
                if theirs != nil { rows.removeFirst() }
            } else {
                rows = try Self.rows(of: store, from: 0)
            }
            _ = try Self.add(rows, to: other, behind: theirs, replacingFrom: isBehind ? nil : 0)
        }
    }

    /// - Returns: false where somebody else has added lines meanwhile.
    private static func add(
        _ rows: [EvidenceRow],
        to store: any UserStoreBackend,
        behind last: EvidenceRow?,
        replacingFrom number: Int64? = nil
    ) throws -> Bool {
        guard !rows.isEmpty else { return true }
        return try store.replicate { replica in
            guard try replica.evidence(from: nil, limit: 1).first == last else { return false }
            try replica.addEvidence(rows, replacingFrom: number)
            return true
        }
    }

    /// Whether the file ends with the store's last line, or both have none. A line that is damaged is no file's.
    private func isEven(_ mine: EvidenceHead, _ row: EvidenceRow?) -> Bool {
        guard let row else { return mine == .start }
        return row.line.withUnsafeBytes(EvidenceLine.place)?.head == mine
    }

    /// Has the store, or the file, take what it lacks; nothing is done where somebody else has added lines meanwhile.
    private func even() throws {
        let file = try EvidenceFile(log.path, .append)
        let row = try lastRow()
        let mine = try lines(of: file, from: row.map { Int(clamping: $0.number) } ?? 0)
        // The store has none yet; or a chain was begun anew here, or its earlier lines are archived.
        let begins = mine.first.map { $0.head.sequence > row?.number ?? 0 && $0.beginsChain } ?? false
        if row == nil || begins {
            try push(mine, behind: row)
        } else if let place = mine.firstIndex(where: { $0.row == row }) {
            try push(Array(mine[(place + 1)...]), behind: row)
        } else {
            try take(file)
        }
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
    @discardableResult
    private func push(_ lines: [Line], behind last: EvidenceRow?) throws -> Bool {
        try Self.add(lines.map(\.row), to: store, behind: last)
    }

    /// Takes over what the store has and the file has not. What the file has beyond where they part follows it anew, and the store
    /// is to be told of that.
    private func take(_ file: borrowing EvidenceFile) throws {
        var mine = try lines(of: file, 0..<(try file.size()), isWhole: true)
        let theirs = try stored(from: mine.first?.head.sequence ?? 0)
        // What the file has of before the store's first line is in no other one's way.
        if let first = theirs.first { mine.removeAll { $0.head.sequence < first.head.sequence } }
        let common = zip(mine, theirs).prefix { $0.head == $1.head }.count
        // What was begun anew has a file of its own.
        let start = theirs.indices.dropFirst().last { !theirs[$0].follows(theirs[$0 - 1]) } ?? 0
        var bytes = theirs[start...].flatMap(\.bytes)
        var head = theirs.last?.head ?? .start
        for line in mine[common...] {
            let record = try line.bytes.withUnsafeBytes(EvidenceLine.parse)
            // A checkpoint sums up lines that stand elsewhere now.
            if case .checkpoint = record.event { continue }
            // Half a millisecond more: what was read is written down with its fraction cut off.
            let content = try EvidenceLine.content(record.event, at: record.time.addingTimeInterval(0.000_5))
            // No seal is given to a line that had none.
            let seal = log.seal.flatMap { seal in line.bytes.withUnsafeBytes(seal.holds) ? seal : nil }
            let added = try EvidenceLine.make(content, after: head, seal: seal)
            bytes += added.bytes
            head = added.head
        }
        if start == 0, common == mine.count, let last = mine.last, let tail = theirs[common...].first,
            tail.follows(last)
        {
            try file.write(theirs[common...].flatMap(\.bytes), at: try file.tail().length)
        } else {
            if try file.size() > 0 { try file.keep(as: log.freeName()) }
            try EvidenceFile.replace(log.path, with: bytes)
        }
    }

    /// The lines that the store has from a number on. What comes before a line that is damaged is left out, where a chain was begun
    /// anew behind it.
    private func stored(from number: Int) throws -> [Line] {
        var lines: [Line] = []
        var damage: (any Error)?
        for row in try Self.rows(of: store, from: Int64(number)) {
            do {
                let line = try Line(row.line, path: place)
                if let damage, !line.beginsChain { throw damage }
                damage = nil
                lines.append(line)
            } catch {
                (lines, damage) = ([], error)
            }
        }
        if let damage { throw damage }
        return lines
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

extension SharedEvidence {
    /// The evidence of a user in some state; nil for a user who belongs to a machine.
    ///
    /// - Parameters:
    ///   - limitSeconds: how long the store may take that does not serve; nil to leave that alone.
    ///   - onFailure: is told that it could not be asked.
    /// - Throws: why the store that serves cannot be opened.
    init?(
        _ log: EvidenceLog,
        _ pair: StorePair,
        _ state: RolloutState,
        limitSeconds: Double?,
        onFailure: @escaping () -> Void = {}
    ) throws {
        guard pair.isWithoutMachine(state) else { return nil }
        let engine = state.engine(state.stage.authority)
        let other = state.engines.other(than: engine)
        var asked: Other?
        if let limitSeconds, pair.known.isShared(other) {
            asked = Other(pair: pair, engine: other, limitSeconds: limitSeconds, onFailure: onFailure)
        }
        self.init(log: log, store: try pair.store(engine), other: asked, place: pair.address(engine).path)
    }
}
