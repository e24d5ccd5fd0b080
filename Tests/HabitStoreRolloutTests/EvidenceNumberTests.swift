import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreRollout

/// Evidence lines with the right hash and extreme numbers, and gate policies with the same: each gives an event that counts for no more than it can,
/// or one that no version wrote. A checkpoint of 2^63 - 1 records once crashed the process, and a listing of lines with malformed numbers ended in an
/// unknown error instead of naming the line.
struct EvidenceNumberTests {
    static let extremes = [
        "0", "-1", "1", "2147483647", "2147483648", "9223372036854775807", "-9223372036854775808",
        "18446744073709551615", "1e300", "-1e300", "1e999", "\"nan\"", "\"\"", "null",
    ]

    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    /// The content of a line with each of its numbers replaced by each extreme.
    private func variants(_ content: String) throws -> [String] {
        let number = try Regex("[:\\[,](-?[0-9]+(?:\\.[0-9]+)?(?:e-?[0-9]+)?)(?=[,}\\]])")
        return try content.matches(of: number).flatMap { match in
            let range = try #require(match.output[1].range)
            return Self.extremes.map { content.replacingCharacters(in: range, with: $0) }
        }
    }

    @Test(arguments: EvidenceSample.events)
    func noNumberOfAnEventEndsAnything(_ event: EvidenceEvent) throws {
        let content = try EvidenceLine.content(event, at: EvidenceSample.start)
        let entry = try EvidenceLine.make(
            EvidenceLine.content(GateCase.entry(.shadow), at: EvidenceSample.start),
            after: .start
        )
        for variant in try variants(content) {
            var bytes = entry.bytes
            var head = entry.head
            // Twice, because counts are added up.
            for _ in 0..<2 {
                let line = try EvidenceLine.make(variant, after: head)
                bytes += line.bytes
                head = line.head
            }
            try Data(bytes).write(to: URL(fileURLWithPath: log.path))
            let chain = EvidenceChain(bytes)
            #expect(chain.damage != nil || chain.records.count == 3, "\(variant)")
            let reads = [
                { _ = try log.summary(anchor: head) }, { _ = try log.verify(anchor: head) }, { _ = try log.newest() },
                { _ = try log.head() }, { _ = try log.trace(anchor: head) },
                { _ = try log.append([event], at: EvidenceSample.start) },
                { _ = try log.summary() },
            ]
            for read in reads {
                do { try read() } catch { #expect(error is HabitStoreError, "\(variant)") }
            }
            var facts = try GateCase(.shadow).facts()
            facts.evidence = try log.summary()
            let decision = Gate().decide(from: .shadow, to: .live, facts: facts, now: EvidenceSample.start)
            #expect(decision.reasons.allSatisfy { !$0.description.isEmpty }, "\(variant)")
        }
    }

    @Test(arguments: [
        "cleanShadowReads", "evidenceLifetimeSeconds", "verificationLifetimeSeconds", "rehearsalLifetimeSeconds",
        "retentionSeconds", "maximumLag",
    ])
    func noNumberOfAPolicyEndsAnything(_ field: String) throws {
        for extreme in Self.extremes {
            let path = folder.path("policy.json")
            try Data("{\"\(field)\": \(extreme)}".utf8).write(to: URL(fileURLWithPath: path))
            do {
                let policy = try GatePolicy.load(path: path)
                for stage in [Stage.shadow, .live, .rampdown] {
                    #expect(try GateCase(stage).reasons(policy).allSatisfy { !$0.description.isEmpty })
                }
            } catch let error as HabitStoreError {
                #expect(error.code == .invalidValue && !error.message.contains("\n"), "\(error)")
            }
        }
    }
}
