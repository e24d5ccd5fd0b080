import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Writes, reads, prunes history and moves its user's stage until it is killed, and reports each step immediately.
struct CrashChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash-child",
        abstract: "Use a user's stores until this process is killed; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The root of the users' stores.")
    var root: String

    @Option(help: "The flag file, which this process writes.")
    var flags: String

    @OptionGroup var engineOptions: SweptEngineOptions

    @Option(help: "The user's old engine.")
    var old: EngineName

    @Option(help: "The user's new engine.")
    var new: EngineName

    @Option(help: "The number of the first write.")
    var first: Int

    @Option(help: "The first move; the others follow from the seed.")
    var move: Move

    @Option(help: "The seed of the moves.")
    var seed: UInt64

    @Flag(help: "Archive the evidence between moves, and reset it now and then.")
    var filing = false

    /// How long a child lives that is not killed.
    private static let lifetimeSeconds = 60.0

    mutating func run() throws {
        let flags = StageFlags(path: flags, EnginePair(old: old, new: new))
        let user = try SweptUser(root: root, flags: flags, options: .sweep, engines: try engineOptions.engines.engines)
        Report.Line.stage.tell(try user.store.stage().rawValue)
        let (move, seed, isFiling) = (move, seed, filing)
        Thread.detachNewThread { Self.keepMoving(user, move, SeededGenerator(seed: seed), isFiling: isFiling) }
        let end = Date(timeIntervalSinceNow: Self.lifetimeSeconds)
        var number = first
        while Date() < end {
            Self.write(number, user.store)
            if number.isMultiple(of: 3) { Self.read(user.store) }
            if number.isMultiple(of: 4) { Self.prune(user.store) }
            number += 1
        }
    }

    private static func write(_ number: Int, _ store: UserStore) {
        Report.Line.begun.tell("\(number)")
        do {
            try store.write(author: Workload.author(number)) { transaction in
                try Workload.write(number, in: transaction)
                // Sometimes one transaction both prunes history and writes.
                guard number.isMultiple(of: 7) else { return }
                try transaction.pruneHistory(through: HistoryToken(rawValue: Int64(number - 5)))
            }
            Report.Line.acknowledged.tell("\(number)")
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            Report.Line.unknown.tell("\(number)")
        } catch {
            Report.Line.failed.tell("\(number) \(Report.text(error))")
        }
    }

    private static func read(_ store: UserStore) {
        do {
            guard let wrong = try store.read(Workload.contradiction) else { return }
            Report.Line.violation.tell("a read: \(wrong)")
        } catch {
            Report.Line.notMoved.tell("read: \(Report.text(error))")
        }
    }

    private static func prune(_ store: UserStore) {
        do {
            let token = try store.currentToken()
            try store.pruneHistory(through: HistoryToken(rawValue: token.rawValue - 4))
        } catch {
            Report.Line.notMoved.tell("prune: \(Report.text(error))")
        }
    }

    // MARK: The controller

    private static func keepMoving(
        _ user: SweptUser,
        _ first: Move,
        _ seeded: SeededGenerator,
        isFiling: Bool
    ) {
        var generator = seeded
        var move = first
        var moves = 0
        while true {
            moves += 1
            if isFiling { file(user, isAnew: moves.isMultiple(of: 4)) }
            do {
                if try make(move, user) { Report.Line.stage.tell(try user.store.stage().rawValue) }
            } catch {
                Report.Line.notMoved.tell("\(move): \(Report.text(error))")
                Thread.sleep(forTimeInterval: 0.002)
            }
            // Twice as often forward, or few users would get far.
            move = (Move.allCases + [.forward, .forward, .forward]).randomElement(using: &generator) ?? .forward
        }
    }

    private static func file(_ user: SweptUser, isAnew: Bool) {
        do {
            if isAnew {
                Report.Line.done.tell(Report.resetBegun)
                try user.store.resetEvidence(because: "a test", by: "the sweep", isForced: true)
                Report.Line.done.tell(Report.resetEnded)
            } else {
                _ = try user.store.archiveEvidence()
            }
        } catch {
            Report.Line.notMoved.tell("filing: \(Report.text(error))")
        }
    }

    private static func make(_ move: Move, _ user: SweptUser) throws -> Bool {
        switch move {
        case .forward:
            if try user.store.decision().reasons.contains(.killed) { try user.rearm() }
            guard try user.goForward() == nil else {
                let missing = try user.store.decision().reasons.map { "\($0)".prefix(40) }.joined(separator: "; ")
                Report.Line.notMoved.tell("forward: \(missing)")
                return false
            }
        // Flags alone take no user back from there.
        case .backByFlags where try user.store.stage() == .complete: try user.goBack()
        case .backByFlags: try user.goBackByFlags()
        case .backByHand: try user.goBack()
        case .kill:
            try user.flags.want(try user.store.stage(), kill: true)
            user.stores.reloadFlags()
            _ = try user.store.stage()
        case .retire:
            guard try user.store.stage() == .complete else { return false }
            try user.flags.want(.complete)
            user.stores.reloadFlags()
            let outcome = try user.store.retire(by: "the sweep")
            Report.Line.notMoved.tell("retire: \(outcome.isRemoved ? "removed" : "\(outcome.decision.reasons)")")
            return false
        }
        return true
    }
}
