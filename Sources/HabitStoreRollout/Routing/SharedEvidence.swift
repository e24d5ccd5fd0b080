import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The evidence of a user who belongs to no machine. The serving store keeps its lines; the file in the folder is a copy, to which this machine adds
/// first.
///
/// The lines in the store come first. Lines that were added here while the server was away, or while another machine added its own, follow them as
/// new lines with their original times, so nothing that speaks against a user is lost. The stores have not acknowledged such lines at their new
/// places, so none of them speaks for the user.
///
/// If both stores are on servers, the other one also gets each line, as far as it can be reached: a machine that takes the user there finds them,
/// whatever it knew. Lines are numbered by the serving store only, so that both have the same numbers.
struct SharedEvidence {
    /// A line whose own hash is right.
    fileprivate struct Line {
        let head: EvidenceHead
        let previous: String
        let bytes: [UInt8]

        var row: EvidenceRow { EvidenceRow(number: Int64(head.sequence), line: bytes) }

        /// - Throws: ``HabitStoreError/Code/corrupt`` for bytes that are not a line.
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

    /// A store that keeps lines; calls have a time limit, in case it hangs.
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
    let serving: Keeper
    /// The other store, if other machines reach it too and it takes part.
    let other: Keeper?
    /// Called if the other store could not be read.
    let onFailure: () -> Void

    /// Brings the file and the stores to the same lines.
    ///
    /// - Returns: the last line that both the file and the serving store are known to have.
    /// - Throws: ``HabitStoreError/Code/busy`` if other machines keep adding lines, or the store does not answer; errors of a store or the system.
    @discardableResult
    func synchronize() throws -> EvidenceHead {
        let theirs = askOther(Self.lastRows)
        let (head, own) = try catchUp(theirs)
        try tellOther(own, behind: theirs)
        return head
    }

    /// Appends events, unless another machine has added lines first, so that they have the same numbers everywhere.
    ///
    /// - Parameter trust: decides what a checkpoint counts; called only if one is due; nil for no checkpoint now.
    /// - Returns: the written lines; nil if other machines keep adding lines.
    /// - Throws: errors of a store or the system; then nothing is written.
    func add(
        _ events: [EvidenceEvent],
        at time: Date,
        anchor: EvidenceHead?,
        trust: () -> EvidenceTrust?
    ) throws -> EvidenceLineRange? {
        let theirs = askOther(Self.lastRows)
        for _ in 0..<Self.mostAttempts {
            let own = try catchUp(theirs).own
            guard let added = try append(events, behind: own, at: time, anchor: anchor, trust: trust) else { continue }
            // The lines are already in place; what the other store does not get now, it gets with the next line.
            if let last = added.shared { try? tellOther(last, behind: theirs) }
            return added.stretch
        }
        return nil
    }

    /// The number of the last line in the store, whatever it contains.
    func lastNumber() throws -> Int { try lastRow().map { Int(clamping: $0.number) } ?? 0 }

    /// - Returns: the written lines, and the store's last line, which is nil if the store did not take them; nil if another machine added lines
    ///   meanwhile.
    private func append(
        _ events: [EvidenceEvent],
        behind own: EvidenceRow?,
        at time: Date,
        anchor: EvidenceHead?,
        trust: () -> EvidenceTrust?
    ) throws -> (stretch: EvidenceLineRange, shared: EvidenceRow?)? {
        let file = try EvidenceFile(log.path, .append)
        let tail = try file.tail()
        guard isEven(tail.head, own) else { return nil }
        let stretch = try log.add(events, to: file, at: time, anchor: anchor, trust: trust).stretch
        let lines = try lines(of: file, tail.length..<(try file.size()), isWhole: true)
        do {
            if try push(lines, behind: own) { return (stretch, lines.last?.row) }
        } catch {
            // The lines are in the file: the next synchronization shares them, or reports why it cannot.
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

    /// - Returns: nil if the other store does not exist or cannot be read now; the next call tries again.
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

    /// Brings the file and the serving store to the same lines, including those that only the other store has.
    ///
    /// - Parameter theirs: the other store's last line; nil if it could not be read.
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

    /// Has the store take the lines that only the other one has: a machine that took the user here could not write them.
    private func takeOver(behind own: EvidenceRow?) throws {
        let theirs = askOther { try Self.rows(of: $0, from: own?.number ?? 0) } ?? []
        guard own == nil || theirs.first == own else { return }
        try push(Array(theirs.dropFirst(own == nil ? 0 : 1)), behind: own)
    }

    /// Writes this store's lines to the other store. Lines that only the other one has are in no file of a machine that continued from there.
    ///
    /// - Parameters:
    ///   - own: this store's last line.
    ///   - theirs: the other store's last line as read before; nil if it could not be read.
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

    /// - Returns: false if another machine added lines meanwhile.
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

    /// Whether the file ends with the store's last line, or neither has lines. A damaged line in the store matches no file.
    private func isEven(_ mine: EvidenceHead, _ row: EvidenceRow?) -> Bool {
        guard let row else { return mine == .start }
        return row.line.withUnsafeBytes(EvidenceLine.place)?.head == mine
    }

    /// Has the store or the file take the lines that it lacks; changes nothing if another machine added lines meanwhile.
    private func even() throws {
        let file = try EvidenceFile(log.path, .append)
        let row = try lastRow()
        let mine = try lines(of: file, from: row.map { Int(clamping: $0.number) } ?? 0)
        // The store has no lines yet, or a chain was reset here, or its earlier lines are archived.
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

    /// - Parameter isWhole: whether the range starts at the beginning of a line.
    private func lines(of file: borrowing EvidenceFile, _ range: Range<Int>, isWhole: Bool) throws -> [Line] {
        var lines: [Line] = []
        var isRest = !isWhole
        try file.forEachPart(range) { part, _ in
            defer { isRest = false }
            // The next append removes what a crash left at the end.
            guard !isRest, case .line(let bytes) = part else { return }
            lines.append(try Line(Array(bytes), path: log.path))
        }
        return lines
    }

    /// Appends lines to the store, after its last one.
    ///
    /// - Returns: false if another machine added lines meanwhile.
    @discardableResult
    private func push(_ lines: some Sequence<Line>, behind last: EvidenceRow?) throws -> Bool {
        try push(lines.map(\.row), behind: last)
    }

    @discardableResult
    private func push(_ rows: [EvidenceRow], behind last: EvidenceRow?) throws -> Bool {
        try serving.ask { try Self.add(rows, to: $0, behind: last) }
    }

    /// Takes the lines that the store has and the file lacks. Lines of the file after the point where they diverge are appended again, and the store
    /// has yet to get them.
    private func take(_ file: borrowing EvidenceFile) throws {
        var mine = try lines(of: file, 0..<(try file.size()), isWhole: true)
        let theirs = try stored(from: mine.first?.head.sequence ?? 0)
        // Lines of the file from before the store's first line conflict with none.
        if let first = theirs.first { mine.removeAll { $0.head.sequence < first.head.sequence } }
        let common = zip(mine, theirs).prefix { $0.head == $1.head }.count
        // A chain that was reset has a separate file.
        let start = theirs.indices.dropFirst().last { !theirs[$0].follows(theirs[$0 - 1]) } ?? 0
        var bytes = theirs[start...].flatMap(\.bytes)
        var head = theirs.last?.head ?? .start
        for line in mine[common...] {
            let record = try line.bytes.withUnsafeBytes(EvidenceLine.parse)
            // A checkpoint sums up lines that are at other places now.
            if case .checkpoint = record.event { continue }
            // Half a millisecond is added since formatting a time truncates its fraction.
            let content = try EvidenceLine.content(record.event, at: record.time.addingTimeInterval(0.000_5))
            // A line without a seal gets none.
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

    /// The store's lines from a number on. Omits what comes before a damaged line, if the chain was reset after it.
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
    /// Whether a file may begin with this line.
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
    ///   - limitSeconds: the time limit for one call to a store.
    ///   - asksOther: whether the store that does not serve takes part.
    ///   - onFailure: called if the other store could not be read.
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
