import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreRollout

/// Any number of processes may append to a user's evidence, and no acknowledged line is ever lost.
struct EvidenceLogTests {
    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: log.path))) }

    private func put(_ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: log.path))
    }

    @Test func everyEventComesBackAsItWasRecorded() throws {
        let last = try log.append(EvidenceSample.events, at: EvidenceSample.start)
        let chain = try log.read()
        #expect(chain.isIntact)
        #expect(chain.records.map(\.event) == EvidenceSample.events)
        #expect(chain.records.map(\.sequence) == Array(1...EvidenceSample.events.count))
        #expect(chain.records.allSatisfy { $0.time == EvidenceSample.start })
        #expect(chain.records.last == last)
        #expect(chain.head == last.head)
        #expect(try log.head() == last.head)
        #expect(chain.records.allSatisfy { chain.contains($0.head) })
        #expect(!chain.contains(EvidenceHead(sequence: 2, hash: last.hash)))
    }

    @Test func aLogThatIsNotThereIsEmptyAndIsNotMadeByReading() throws {
        #expect(try log.read() == EvidenceChain())
        #expect(try log.head() == .start)
        #expect(!FileManager.default.fileExists(atPath: log.path))
    }

    @Test func theFileIsItsOwnersOnly() throws {
        try log.append([.killed(trigger: "flag")], at: EvidenceSample.start)
        let mode = try FileManager.default.attributesOfItem(atPath: log.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func theFormOfALineIsTheDocumentedOne() throws {
        try log.append([.killed(trigger: "flag")], at: EvidenceSample.start)
        let hash = "fcb2bd0698f7cc6a4ec00edee31d4dd3ac6f28bab405068954a080a7e2a1d0df"
        let zeros = String(repeating: "0", count: 64)
        let line =
            #"{"hash":"\#(hash)","previous":"\#(zeros)","sequence":1,"time":"2026-05-28T20:26:40.250Z","#
            + #""event":{"kind":"killed","trigger":"flag"}}"# + "\n"
        #expect(String(decoding: try bytes(), as: UTF8.self) == line)
    }

    #if os(Linux)
    @Test(arguments: [1, 2, 12])
    func anyLineIsCheckedWithSha256sum(line: Int) throws {
        try log.append(EvidenceSample.events, at: EvidenceSample.start)
        let command = "sed -n \(line)p '\(log.path)' | cut -b 76- | sha256sum"
        let printed = try ChildProcess.run("/bin/sh", ["-c", command]).output
        #expect(printed.prefix(64) == (try log.read().records[line - 1].hash))
    }
    #endif

    @Test func writersInParallelMakeOneChain() async throws {
        let log = log
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<25 {
                        try log.append(
                            [.killed(trigger: "\(writer)"), .backfilled(token: .zero, records: number)],
                            at: EvidenceSample.start
                        )
                        guard try log.read().isIntact else { throw HabitStoreError(.corrupt, "read a damaged chain") }
                    }
                }
            }
            try await group.waitForAll()
        }
        let records = try log.read().records
        #expect(records.count == 200)
        for writer in 0..<4 {
            let own = records.indices.filter { records[$0].event == .killed(trigger: "\(writer)") }
            #expect(own.map { records[$0 + 1].event } == (0..<25).map { .backfilled(token: .zero, records: $0) })
        }
    }

    @Test func aTornTailIsNoDamageAndTheNextAppendRemovesIt() throws {
        try log.append(EvidenceSample.events, at: EvidenceSample.start)
        let whole = try bytes()
        let next = try EvidenceLine.make(
            EvidenceLine.content(.rearmed(by: "root"), at: EvidenceSample.start),
            after: log.head()
        ).bytes
        for length in 1..<next.count {
            try put(whole + next.prefix(length))
            let chain = try log.read()
            #expect(chain.isIntact)
            #expect(chain.tornBytes == length)
            #expect(chain.records.count == EvidenceSample.events.count)
            try log.append([.rearmed(by: "root")], at: EvidenceSample.start)
            #expect(try bytes() == whole + next)
        }
        try put(whole + [0, 0, 0, 0])
        try log.append([.rearmed(by: "root")], at: EvidenceSample.start)
        #expect(try bytes() == whole + next)
    }

    @Test func whatCannotBeRecordedIsRefusedAndLeavesNoTrace() throws {
        let time = EvidenceSample.start
        let long = String(repeating: "x", count: EvidenceLog.maximumLineBytes)
        let wrong: [([EvidenceEvent], Date, HabitStoreError.Code)] = [
            ([], time, .invalidValue),
            ([.killed(trigger: ""), .unknown(kind: "later")], time, .invalidValue),
            ([.killed(trigger: "")], Date(timeIntervalSince1970: -1), .invalidValue),
            ([.killed(trigger: "")], Date(timeIntervalSince1970: .nan), .invalidValue),
            ([.killed(trigger: "")], .distantFuture.addingTimeInterval(1e15), .invalidValue),
            ([.killed(trigger: ""), .killed(trigger: long)], time, .limitExceeded),
            ([.refused(to: .live, reasons: [.coverageIncomplete(coverage: .nan)])], time, .invalidValue),
        ]
        for (events, time, code) in wrong {
            let error = #expect(throws: HabitStoreError.self) { try log.append(events, at: time) }
            #expect(error?.code == code)
            #expect(try log.read() == EvidenceChain())
        }
        let nowhere = EvidenceLog(path: folder.path("missing/evidence.jsonl"))
        let error = #expect(throws: HabitStoreError.self) { try nowhere.append([.killed(trigger: "")], at: time) }
        #expect(error?.code == .notFound)
    }

    @Test func aFolderOrALinkInPlaceOfTheFileIsRefused() throws {
        try FileManager.default.createSymbolicLink(atPath: log.path, withDestinationPath: folder.path("elsewhere"))
        #expect(throws: HabitStoreError.self) { try log.append([.killed(trigger: "")], at: EvidenceSample.start) }
        try FileManager.default.removeItem(atPath: log.path)
        try FileManager.default.createDirectory(atPath: log.path, withIntermediateDirectories: false)
        #expect(throws: HabitStoreError.self) { try log.append([.killed(trigger: "")], at: EvidenceSample.start) }
        #expect(throws: HabitStoreError.self) { _ = try log.read() }
    }

    @Test func eventsOfANewerVersionKeepTheChain() throws {
        var bytes: [UInt8] = []
        var head = EvidenceHead.start
        for event in [
            #"{"kind":"teleported","where":{"deep":[1]}}"#,
            #"{"epoch":1,"from":"off","kind":"stageChanged","reason":"byMoonlight","to":"dualwrite","token":1}"#,
            #"{"kind":"killed","trigger":"flag","new":true}"#,
        ] {
            let content = #""time":"2027-01-01T00:00:00.000Z","event":\#(event)}"# + "\n"
            let line = try EvidenceLine.make(content, after: head)
            bytes += line.bytes
            head = line.head
        }
        try put(bytes)
        try log.append([.rearmed(by: "root")], at: EvidenceSample.start)
        let chain = try log.read()
        #expect(chain.isIntact)
        #expect(
            chain.records.map(\.event) == [
                .unknown(kind: "teleported"), .unknown(kind: "stageChanged"), .killed(trigger: "flag"),
                .rearmed(by: "root"),
            ]
        )
    }

    @Test func aLogOfAHundredThousandLinesIsRead() throws {
        let content = try EvidenceLine.content(EvidenceSample.events[4], at: EvidenceSample.start)
        var bytes: [UInt8] = []
        var head = EvidenceHead.start
        for _ in 0..<100_000 {
            let line = try EvidenceLine.make(content, after: head)
            bytes += line.bytes
            head = line.head
        }
        try put(bytes)
        let last = try log.append([.killed(trigger: "flag")], at: EvidenceSample.start)
        #expect(last.sequence == 100_001)
        let clock = ContinuousClock()
        var chain = EvidenceChain()
        let duration = try clock.measure { chain = try log.read() }
        print("read 100,001 lines of evidence in \(duration)")
        #expect(chain.isIntact)
        #expect(chain.records.count == 100_001)
        #expect(chain.head == last.head)
    }
}
