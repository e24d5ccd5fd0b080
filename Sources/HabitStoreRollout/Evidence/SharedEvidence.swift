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
                    "the evidence has a damaged line: `\(OperatorCommand.name) rollout evidence verify --user U` shows where",
                    at: .init(path: path)
                )
            }
            (head, previous, self.bytes) = (place.head, place.previous, bytes)
        }

        func follows(_ line: Line) -> Bool {
            previous == line.head.hash && head.sequence == line.head.sequence.addingSaturated(1)
        }
    }

    /// A store that keeps lines; nobody waits for ever for one that hangs.
    struct Keeper {
        let pair: StorePair
        let engine: EngineName
        let limitSeconds: Double

        func ask<R: Sendable>(_ body: @escaping @Sendable (any UserStoreBackend) throws -> R) throws -> R {
            try Deadline.run(seconds: limitSeconds, path: pair.address(engine).path) { [pair, engine] _ in
                try body(pair.store(engine))
            }
        }
    }

    private static let pageLines = 1_000
    private static let mostAttempts = 20

    let log: EvidenceLog
    /// The store that serves.
    let serving: Keeper
    /// The other one, where other machines reach it, too, and it may be asked.
    let other: Keeper?
    /// Is told that the other one could not be asked.
    let onFailure: () -> Void

    /// Brings the file and the stores to the same lines.
    ///
    /// - Returns: the last line that the file and the store that serves are known to have.
    /// - Throws: ``HabitStoreError/Code/busy`` where others add lines all the time, or the store does not answer; what a store or
    ///   the system refuses.
    @discardableResult
    func synchronize() throws -> EvidenceHead {
        let theirs = askOther(Self.lastRows)
        let (head, own) = try catchUp(theirs)
        try tellOther(own, behind: theirs)
        return head
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
        let theirs = askOther(Self.lastRows)
        for _ in 0..<Self.mostAttempts {
            let own = try catchUp(theirs).own
            guard let added = try append(events, behind: own, at: time, anchor: anchor, trust: trust) else { continue }
            // It stands where it is to stand; what the other one is not told now it is told with the next line.
            if let last = added.shared { try? tellOther(last, behind: theirs) }
            return added.stretch
        }
        return nil
    }

    /// The number of the last line that the store has, whatever that is.
    func lastNumber() throws -> Int { try lastRow().map { Int(clamping: $0.number) } ?? 0 }

    /// - Returns: what was written, and the store's last line, which is nil where it could not be told; nil where somebody else has
    ///   added lines meanwhile.
    private func append(
        _ events: [EvidenceEvent],
        behind own: EvidenceRow?,
        at time: Date,
        anchor: EvidenceHead?,
        trust: () -> EvidenceTrust?
    ) throws -> (stretch: EvidenceStretch, shared: EvidenceRow?)? {
        let file = try EvidenceFile(log.path, .append)
        let tail = try file.tail()
        guard isEven(tail.head, own) else { return nil }
        let stretch = try log.add(events, to: file, at: time, anchor: anchor, trust: trust).stretch
        let lines = try lines(of: file, tail.length..<(try file.size()), isWhole: true)
        do {
            if try push(lines, behind: own) { return (stretch, lines.last?.row) }
        } catch {
            // The lines are in the file: whoever looks next shares them, or says why that cannot be.
            return (stretch, nil)
        }
        try file.write([], at: tail.length)
        return nil
    }

    // MARK: The stores

    private static func lastRows(of store: any UserStoreBackend) throws -> [EvidenceRow] {
        try store.replicaRead { try $0.evidence(from: nil, limit: 1) }
    }

    private func lastRow() throws -> EvidenceRow? { try serving.ask { try Self.lastRows(of: $0).first } }

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

    /// - Returns: nil where the other store is not there or cannot be asked now; whoever looks next asks it.
    private func askOther<R: Sendable>(_ body: @escaping @Sendable (any UserStoreBackend) throws -> R) -> R? {
        guard let other else { return nil }
        do {
            return try other.ask(body)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        } catch {
            onFailure()
            return nil
        }
    }

    /// Brings the file and the store that serves to the same lines, with what the other one has beyond them.
    ///
    /// - Parameter theirs: the other one's last line; nil where that could not be asked.
    /// - Returns: the last line of both.
    private func catchUp(_ theirs: [EvidenceRow]?) throws -> (head: EvidenceHead, own: EvidenceRow?) {
        var own = try lastRow()
        if let last = theirs?.first, last.number > own?.number ?? 0 {
            try takeOver(behind: own)
            own = try lastRow()
        }
        for _ in 0..<Self.mostAttempts {
            let mine = try log.head()
            if isEven(mine, own) { return (mine, own) }
            try even()
            own = try lastRow()
        }
        throw HabitStoreError(.busy, "other machines add evidence all the time; try again", at: .init(path: log.path))
    }

    /// Has the store take what the other one has beyond it: the user was taken here by a machine that could not tell it.
    private func takeOver(behind own: EvidenceRow?) throws {
        let theirs = askOther { try Self.rows(of: $0, from: own?.number ?? 0) } ?? []
        guard own == nil || theirs.first == own else { return }
        try push(Array(theirs.dropFirst(own == nil ? 0 : 1)), behind: own)
    }

    /// Tells the other store of what this one has. What it has of its own stands in no file of a machine that went on from there.
    ///
    /// - Parameters:
    ///   - own: this one's last line.
    ///   - theirs: the other one's, as it was; nil where it could not be asked.
    private func tellOther(_ own: EvidenceRow?, behind theirs: [EvidenceRow]?) throws {
        guard let own, let theirs, own != theirs.first else { return }
        let last = theirs.first
        var rows = try serving.ask { try Self.rows(of: $0, from: last?.number ?? 0) }
        let isBehind = last == nil || rows.first == last
        if !isBehind {
            rows = try serving.ask { try Self.rows(of: $0, from: 0) }
        } else if last != nil {
            rows.removeFirst()
        }
        let told = rows
        _ = askOther { try Self.add(told, to: $0, behind: last, replacingFrom: isBehind ? nil : 0) }
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

    // MARK: The file

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
            try push(mine[(place + 1)...], behind: row)
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
    private func push(_ lines: some Sequence<Line>, behind last: EvidenceRow?) throws -> Bool {
        try push(lines.map(\.row), behind: last)
    }

    @discardableResult
    private func push(_ rows: [EvidenceRow], behind last: EvidenceRow?) throws -> Bool {
        try serving.ask { try Self.add(rows, to: $0, behind: last) }
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
        for row in try serving.ask({ try Self.rows(of: $0, from: Int64(number)) }) {
            do {
                let line = try Line(row.line, path: serving.pair.address(serving.engine).path)
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
    ///   - limitSeconds: how long a store may take for one answer.
    ///   - asksOther: whether the store that does not serve takes part.
    ///   - onFailure: is told that it could not be asked.
    init?(
        _ log: EvidenceLog,
        _ pair: StorePair,
        _ state: RolloutState,
        limitSeconds: Double,
        asksOther: Bool = false,
        onFailure: @escaping () -> Void = {}
    ) {
        guard pair.isWithoutMachine(state) else { return nil }
        let engine = state.engine(state.stage.authority)
        let other = state.engines.other(than: engine)
        self.init(
            log: log,
            serving: Keeper(pair: pair, engine: engine, limitSeconds: limitSeconds),
            other: asksOther && pair.known.isShared(other)
                ? Keeper(pair: pair, engine: other, limitSeconds: limitSeconds) : nil,
            onFailure: onFailure
        )
    }
}
