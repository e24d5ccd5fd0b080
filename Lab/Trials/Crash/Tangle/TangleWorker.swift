import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// Opens the user and performs a process's duties in a seeded order.
struct TangleWorker: Sendable {
    let root: String
    let flags: StageFlags
    let progress: TangleProgress
    let duties: [TangleDuty]

    /// The pause between two duties.
    private static let restSeconds = 0.0...0.03

    func work(_ seeded: SeededGenerator) {
        var generator = seeded
        let duties = duties.filter { $0 != .reading }
        while !progress.isEnded {
            let duty = duties.randomElement(using: &generator)
            let (roll, rest) = (generator.next(), Double.random(in: Self.restSeconds, using: &generator))
            progress.doing {
                do {
                    try work(duty, roll)
                } catch {
                    Report.Line.notMoved.tell("\(duty?.rawValue ?? "opening"): \(Report.text(error))")
                }
            }
            Thread.sleep(forTimeInterval: rest)
        }
    }

    private func work(_ duty: TangleDuty?, _ roll: UInt64) throws {
        if duty == .toggling { return try toggle(roll) }
        guard let user = progress.present else { return try open() }
        switch duty {
        case nil, .reading, .toggling: Thread.sleep(forTimeInterval: 0.05)
        case .moving: try move(user, roll)
        case .killing: try kill(user, isForAll: false)
        case .killingAll: try kill(user, isForAll: true)
        case .rearming: try rearm(user)
        case .pruning:
            let token = try user.store.currentToken()
            try user.store.pruneHistory(through: HistoryToken(rawValue: token.rawValue - Int64(roll % 8)))
            Report.Line.done.tell("pruned")
        case .verifying:
            let report = try user.store.verify()
            Report.Line.done.tell("verified: \(report.verdict.rawValue)")
            let stage = try user.store.stage()
            // If no mirror follows at this stage, another store may be an old one; at token 0 it was only just created.
            guard report.verdict == .mismatch, stage.mirror != nil, report.b.information.token > .zero else { break }
            let tokens = "\(report.a.information.token) and \(report.b.information.token)"
            Report.Line.mismatch.tell("\(stage) \(tokens): \(report.differences.first?.message ?? "")")
        case .filing: try file(user, roll)
        case .mending: try mend(roll)
        case .promoting: try promote(user)
        case .shiftingClock: if let what = TangleClock.shift(roll) { Report.Line.done.tell(what) }
        }
    }

    private func open() throws {
        _ = progress.exchange(try SweptUser(root: root, flags: flags, options: .tangle))
        Report.Line.done.tell("opened")
    }

    /// Closes and reopens the user, with or without an engine in the flags.
    private func toggle(_ roll: UInt64) throws {
        progress.exchange(nil)?.store.close()
        let backends: [EngineName?] = [.sqlite, .lmdb, nil]
        let backend = backends[Int(roll % 3)]
        if roll / 3 % 4 > 0 { try flags.want(.init(backend: backend)) }
        try open()
        guard let store = progress.present?.store else { return }
        if store.notes.contains(where: { $0.hasPrefix("switched from") }) { Report.Line.done.tell("toggled") }
        Report.Line.stage.tell(try store.stage().rawValue)
        Thread.sleep(forTimeInterval: Double(roll / 12 % 100) / 1_000)
    }

    private func move(_ user: SweptUser, _ roll: UInt64) throws {
        switch roll % 8 {
        case 0:
            try user.goBack()
            Report.Line.done.tell("demoted")
        case 1:
            try user.goBackByFlags()
            Report.Line.done.tell("went back by flags")
        default: return try promote(user)
        }
        Report.Line.stage.tell(try user.store.stage().rawValue)
    }

    private func promote(_ user: SweptUser) throws {
        if let missing = try user.goForward(tries: 1) {
            return Report.Line.notMoved.tell("forward: \(missing.prefix(60))")
        }
        Report.Line.done.tell("advanced")
        Report.Line.stage.tell(try user.store.stage().rawValue)
    }

    private func kill(_ user: SweptUser, isForAll: Bool) throws {
        let begun = TangleClock.now
        try user.kill(isForAll: isForAll)
        guard try user.store.land() else { return }
        Report.Line.done.tell(isForAll ? "killed all users" : "killed")
        Report.Line.landed.tell("\(begun) \(try user.store.engine().rawValue)")
    }

    private func rearm(_ user: SweptUser) throws {
        Report.Line.rearming.tell("\(TangleClock.now) begun")
        try user.rearm()
        Report.Line.rearming.tell("\(TangleClock.now) ended")
        Report.Line.done.tell("re-armed")
    }

    private func file(_ user: SweptUser, _ roll: UInt64) throws {
        if roll % 6 == 0 {
            Report.Line.done.tell(Report.resetBegun)
            _ = try user.store.resetEvidence(because: "a test", by: "the sweep", isForced: true)
            Report.Line.done.tell(Report.resetEnded)
        } else if try user.store.archiveEvidence() != nil {
            Report.Line.done.tell("evidence archived")
        }
    }

    /// Repairs like the command: with separate stores, after this process's stores are closed.
    private func mend(_ roll: UInt64) throws {
        if roll % 2 == 0 {
            _ = try UserStores(root: root, flags: flags.path, schema: HabitSchema.current, options: .tangle).examine(
                SweptUser.name
            )
            return Report.Line.done.tell("examined")
        }
        progress.exchange(nil)?.store.close()
        _ = try UserStores(root: root, flags: flags.path, schema: HabitSchema.current, options: .tangle).mend(
            SweptUser.name
        )
        Report.Line.done.tell("mended")
    }
}
