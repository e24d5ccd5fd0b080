import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreRollout

/// Damage to an evidence file is found, and stays visible however many lines are appended after it.
struct EvidenceDamageTests {
    private static let newline = UInt8(ascii: "\n")
    private let folder: TemporaryFolder
    private let log: EvidenceLog
    private let bytes: [UInt8]
    /// Each with its newline.
    private let lines: [[UInt8]]
    private let head: EvidenceHead

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
        bytes = try EvidenceSample.bytes(Array(EvidenceSample.events.prefix(6)))
        lines = bytes.split(separator: Self.newline).map { Array($0) + [Self.newline] }
        head = EvidenceChain(bytes).head
    }

    private func put(_ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: log.path))
    }

    /// Expects damage in line `line`, also after events are appended.
    private func expectDamage(_ line: Int, _ damaged: [UInt8], anchor: EvidenceHead? = nil) throws {
        try put(damaged)
        for _ in 0..<2 {
            let record = try log.append([.killed(trigger: "flag")], at: EvidenceSample.start, anchor: anchor)
            let chain = try log.read()
            #expect(chain.damage?.line == line)
            #expect(chain.head == record.head)
            #expect(try log.head() == record.head)
        }
    }

    @Test func aFlippedBitAnywhereIsFoundInItsLine() throws {
        var line = 1
        for (index, byte) in bytes.enumerated() {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] = byte ^ (1 << UInt8(bit))
                let chain = EvidenceChain(damaged)
                #expect(chain.damage?.line == line, "bit \(bit) of byte \(index)")
            }
            if byte == Self.newline { line += 1 }
        }
    }

    @Test func aFlippedBitGoesOnToShowBehindAppends() throws {
        let last = bytes.count - (lines.last?.count ?? 0)
        for index in [0, 80, last, last + 8, last + 9, last + 76, bytes.count - 2, bytes.count - 1] {
            var damaged = bytes
            damaged[index] ^= 1
            try expectDamage(index < last ? 1 : 6, damaged)
        }
    }

    @Test func damageThatIsPutRightBehindAnAppendShowsInTheNextLine() throws {
        var damaged = bytes
        damaged[bytes.count - 3] ^= 1
        try put(damaged)
        try log.append([.killed(trigger: "flag")], at: EvidenceSample.start)
        let later = try Data(contentsOf: URL(fileURLWithPath: log.path)).dropFirst(bytes.count)
        #expect(EvidenceChain(bytes + later).damage?.line == 7)
        #expect(EvidenceChain(lines.dropLast().flatMap { $0 } + later).damage?.line == 6)
    }

    @Test func aLineThatIsRemovedMovedOrRepeatedIsNamed() throws {
        for index in lines.indices.dropLast() {
            var changed = lines
            changed.remove(at: index)
            try expectDamage(index + 1, changed.flatMap { $0 })
            changed = lines
            changed.swapAt(index, index + 1)
            try expectDamage(index + 1, changed.flatMap { $0 })
        }
        for index in lines.indices {
            var changed = lines
            changed.insert(lines[index], at: index)
            try expectDamage(index + 2, changed.flatMap { $0 })
            changed = lines
            changed.insert([Self.newline], at: index)
            try expectDamage(index + 1, changed.flatMap { $0 })
        }
    }

    @Test func aLineWithAHashOfItsOwnDoesNotFollow() throws {
        let other = try EvidenceSample.bytes([.killed(trigger: "a"), .killed(trigger: "b")])
        let second = other.split(separator: Self.newline)[1]
        try expectDamage(2, lines[0] + second + [Self.newline])
    }

    @Test func aCutAtAnyByteOfTheLastTwoLinesShowsByItsAnchorForEver() throws {
        let kept = lines.dropLast(2).flatMap { $0 }
        for length in kept.count..<bytes.count {
            try put(bytes.prefix(length))
            let chain = try log.read()
            #expect(chain.isIntact)
            #expect(chain.records.count == (length < kept.count + lines[4].count ? 4 : 5))
            #expect(!chain.contains(head))
            try expectDamage(chain.records.count + 1, Array(bytes.prefix(length)), anchor: head)
        }
        #expect(EvidenceChain(bytes).contains(head))
    }

    @Test func aLogThatIsGoneOrAnothersShowsByItsAnchorForEver() throws {
        try expectDamage(1, [], anchor: head)
        let others = try EvidenceSample.bytes((1...6).map { .backfilled(token: .zero, records: $0) })
        try expectDamage(7, others, anchor: head)
    }

    @Test func anAnchorThatTheLogHasComeToChangesNothing() throws {
        try put(bytes)
        try log.append([.killed(trigger: "flag")], at: EvidenceSample.start, anchor: head)
        try log.append([.killed(trigger: "flag")], at: EvidenceSample.start, anchor: head)
        let chain = try log.read()
        #expect(chain.isIntact)
        #expect(chain.records.count == 8)
        #expect(chain.contains(head))
    }

    @Test func garbageOfAnyLengthIsNamedAndAppendedTo() throws {
        for count in [EvidenceLog.maximumLineBytes + 1, 2 * EvidenceLog.maximumLineBytes, 1_500_000] {
            let garbage = [UInt8](repeating: 0x78, count: count)
            try expectDamage(7, bytes + garbage)
            try expectDamage(7, bytes + garbage + [Self.newline])
            try expectDamage(1, garbage)
        }
        var generator = SystemRandomNumberGenerator()
        for count in 1...200 {
            let garbage = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            try expectDamage(7, bytes + garbage + [Self.newline])
        }
    }

    @Test func forgedNumbersDoNotTrap() throws {
        let line = try EvidenceLine.make(
            EvidenceLine.content(.killed(trigger: ""), at: EvidenceSample.start),
            after: EvidenceHead(sequence: .max - 1, hash: EvidenceHead.start.hash)
        )
        try expectDamage(1, line.bytes)
    }
}
