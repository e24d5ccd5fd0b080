import CYardstick
import Foundation
import HabitStore
import HabitTracker

/// The suite `table`: each kind of work on one data set, through this package's stores, hand-written in C, and through GRDB, in turn.
final class TableRun {
    private let data: BenchData
    private let directory: URL
    private let rounds: Int
    private let sides: [Side]

    /// A contestant with the rows to which its times belong; those of GRDB belong to all rows.
    private struct Side {
        let contestant: any Contestant
        let subject: Subject?
        let works: [Work]
        let file: String

        func does(_ work: Work) -> Bool { works.contains(work) && contestant.takesPart(in: work) }
    }

    private struct Subject: Hashable {
        let engine: TableEngine
        let layout: EntryLayout
    }

    private static let subjects = [
        Subject(engine: .sqlite, layout: .byIdentifier), Subject(engine: .lmdb, layout: .byIdentifier),
        Subject(engine: .sqlite, layout: .clustered), Subject(engine: .lmdb, layout: .clustered),
        Subject(engine: .memory, layout: .byIdentifier), Subject(engine: .mapped, layout: .byIdentifier),
    ]

    init(_ directory: URL, rounds: Int, entriesEach: Int) {
        let commits = 2 * (rounds + 1) * Work.commits.repetitions
        let data = BenchData(habits: 200, entriesEach: entriesEach, spare: commits)
        (self.data, self.directory, self.rounds) = (data, directory, rounds)
        var sides: [Side] = []
        func add(_ contestant: any Contestant, _ subject: Subject?) {
            let works = subject?.layout.works ?? Work.allCases
            sides.append(Side(contestant: contestant, subject: subject, works: works, file: "table-\(sides.count)"))
        }
        for subject in Self.subjects {
            switch subject.layout {
            case .byIdentifier: add(AppContestant<PlainEntry>(subject.engine, data), subject)
            case .clustered: add(AppContestant<Entry>(subject.engine, data), subject)
            }
            switch subject.engine {
            case .sqlite, .mapped: add(YardstickContestant(.sqlite, subject.layout, data), subject)
            case .lmdb: add(YardstickContestant(.lmdb, subject.layout, data), subject)
            case .memory: break
            }
        }
        add(GRDBTableContestant(.codable, data), nil)
        add(GRDBTableContestant(.byHand, data), nil)
        self.sides = sides
    }

    func measure() throws -> TableReport {
        var samples = [[Work: [Double]]](repeating: [:], count: sides.count)
        for round in 0..<rounds {
            for (place, side) in sides.enumerated() {
                let start = ContinuousClock.now
                try side.contestant.load(path(side, round))
                let time = (ContinuousClock.now - start) / .milliseconds(1)
                samples[place][.bulkLoad, default: []].append(time)
                if side.does(.bulkLoadSorted) {
                    samples[place][.bulkLoadSorted, default: []].append(try sortedLoad(side, round) ?? time)
                }
                if round > 0 { try remove(path(side, round - 1)) }
            }
        }
        for side in sides { try side.contestant.open(path(side, rounds - 1)) }
        for work in Work.allCases where work != .bulkLoad && work != .bulkLoadSorted {
            // So that no side shares what a process keeps of an open file.
            if work == .openReadClose { for side in sides { try side.contestant.close() } }
            try measure(work, &samples)
            if work == .commitsWithHistory { try requireAllCommits() }
        }
        return TableReport(
            habits: data.habits.count,
            entries: data.entries.count,
            rounds: rounds,
            rows: Work.allCases.flatMap { rows($0, samples) }
        )
    }

    /// The time of a load by the C program that sorts; nil for a side with only one way to load.
    private func sortedLoad(_ side: Side, _ round: Int) throws -> Double? {
        guard let yardstick = side.contestant as? YardstickContestant else { return nil }
        let path = path(side, round) + "-sorted"
        let start = ContinuousClock.now
        try yardstick.loadSorted(path)
        let time = (ContinuousClock.now - start) / .milliseconds(1)
        try yardstick.open(path)
        let count = try yardstick.perform(.bulkLoad, 0)
        yardstick.close()
        guard count == data.entries.count else { throw BenchError("a sorted load has \(count) entries") }
        try remove(path)
        return time
    }

    private func measure(_ work: Work, _ samples: inout [[Work: [Double]]]) throws {
        // Before anything is timed, all sides do it once, which also fills the caches.
        for round in -1..<rounds {
            var answers: [UInt64] = []
            for (place, side) in sides.enumerated() where side.does(work) {
                var times: [Double] = []
                var sum: UInt64 = 0
                for repetition in 0..<work.repetitions {
                    let number = spareNumber(work, round) + repetition
                    let start = ContinuousClock.now
                    let answer = try side.contestant.perform(work, number)
                    times.append((ContinuousClock.now - start) / .milliseconds(1))
                    sum = sum &* 31 &+ answer
                }
                answers.append(sum)
                if round >= 0 { samples[place][work, default: []].append(times.median) }
            }
            guard Set(answers).count == 1 else { throw BenchError("\(work.rawValue): the answers differ: \(answers)") }
            guard answers[0] != 0 else {
                throw BenchError("\(work.rawValue): nothing was found")
            }
        }
    }

    /// Each commit has its own entry.
    private func spareNumber(_ work: Work, _ round: Int) -> Int {
        let base = work == .commitsWithHistory ? (rounds + 1) * work.repetitions : 0
        return work == .openReadClose ? 0 : base + (round + 1) * work.repetitions
    }

    private func requireAllCommits() throws {
        for side in sides where side.works.contains(.scan) {
            let count = try side.contestant.perform(.bulkLoad, 0)
            let commits = [Work.commits, .commitsWithHistory].filter { side.does($0) }
            let expected = data.entries.count + commits.reduce(0) { $0 + (rounds + 1) * $1.repetitions }
            guard count == expected else {
                throw BenchError("\(side.contestant.name) has \(count) entries, not \(expected)")
            }
        }
    }

    private func rows(_ work: Work, _ samples: [[Work: [Double]]]) -> [TableRow] {
        Self.subjects.compactMap { subject in
            var milliseconds: [String: Double] = [:]
            for (place, side) in sides.enumerated() where side.subject == nil || side.subject == subject {
                guard side.does(work), let times = samples[place][work] else { continue }
                milliseconds[side.contestant.name] = times.median
            }
            guard milliseconds["ours"] != nil else { return nil }
            return TableRow(
                engine: subject.engine,
                layout: subject.layout,
                work: work,
                title: work.title(data),
                milliseconds: milliseconds,
                goal: work.goal(subject.engine),
                lead: work.goal(subject.engine) == nil ? nil : work.lead
            )
        }
    }

    private func path(_ side: Side, _ round: Int) -> String {
        directory.appendingPathComponent("\(side.file)-\(round)").path
    }

    private func remove(_ path: String) throws {
        let name = URL(fileURLWithPath: path).lastPathComponent
        for file in try FileManager.default.contentsOfDirectory(atPath: directory.path)
        where file == name || file.hasPrefix(name + "-") {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(file))
        }
    }
}

extension [Double] {
    var median: Double { sorted()[count / 2] }
}
