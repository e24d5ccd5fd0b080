import Foundation
import Trials

/// Checks that operations of several processes are linearizable.
///
/// Each write increments a counter, so its number is its place in the only possible order. That order must agree with time: an operation that begins
/// after another's end comes after it.
struct TrafficCheck {
    /// The contradictions, one line each.
    private(set) var violations: [String] = []
    let acknowledged: [TrafficLine]
    let reads: [TrafficLine]
    let lines: [TrafficLine]

    init(_ lines: [TrafficLine]) {
        self.lines = lines
        acknowledged = lines.filter { $0.isWrite && $0.outcome == TrafficLine.ok }
        reads = lines.filter { !$0.isWrite && $0.outcome == TrafficLine.ok }
        checkNumbers()
        checkOrder()
        checkReads()
    }

    /// The writes with an unknown outcome.
    var unknown: [TrafficLine] { lines.filter { $0.isWrite && $0.outcome == "outcomeUnknown" && $0.number > 0 } }

    private mutating func checkNumbers() {
        var seen: [Int: TrafficLine] = [:]
        for write in acknowledged {
            if let other = seen.updateValue(write, forKey: write.number) {
                violations.append("two acknowledged writes have the same number: \(other) and \(write)")
            }
        }
    }

    /// After the end of an operation with a number, every write has a larger one, and every read at least that.
    private mutating func checkOrder() {
        let done = (acknowledged + reads).sorted { $0.end < $1.end }
        var next = 0
        var highest: TrafficLine?
        for operation in (acknowledged + reads).sorted(by: { $0.begin < $1.begin }) {
            while next < done.count, done[next].end < operation.begin {
                if done[next].number > highest?.number ?? -1 { highest = done[next] }
                next += 1
            }
            guard let highest else { continue }
            if operation.number < highest.number + (operation.isWrite ? 1 : 0) {
                violations.append("\(operation) comes after \(highest)")
            }
        }
    }

    /// A read returns the number of a write that had begun, and that did not fail.
    private mutating func checkReads() {
        var writers: [Int: UInt64] = [:]
        for write in acknowledged + unknown {
            writers[write.number] = min(write.begin, writers[write.number] ?? .max)
        }
        for read in reads where read.number > 0 {
            guard let begin = writers[read.number] else {
                violations.append("no operation wrote what was read: \(read)")
                continue
            }
            if begin > read.end { violations.append("\(read) ended before its write began") }
        }
    }
}
