import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
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
        // The parent is told of its failure.
        try? Workload.tell(number, to: store) { transaction in
            // Sometimes one transaction both prunes history and writes.
            guard number.isMultiple(of: 7) else { return }
            try transaction.pruneHistory(through: HistoryToken(rawValue: Int64(number - 5)))
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

/// The stage change that the child makes.
enum Move: String, CaseIterable, ExpressibleByArgument {
    case forward
    case backByFlags
    case backByHand
    case kill
    case retire

    /// The target stage; nil if the move is impossible.
    func target(from stage: Stage) -> Stage? {
        switch self {
        case .forward: stage.next
        case .backByFlags, .backByHand: Stage.allCases.last { $0 < stage }
        case .kill: .off
        case .retire: stage == .complete ? .complete : nil
        }
    }
}

extension EngineName: ExpressibleByArgument {}
extension Stage: ExpressibleByArgument {}

/// The writes of a child. What each does follows also from what earlier writes have left.
enum Workload: NumberedWrites {
    enum Kind: Int {
        case counter, tag, habit, morning, evening, log
    }

    /// How many habits exist at a time; each write deletes the habit that was inserted this many writes before.
    private static let livingHabits = 6
    private static let tags = 3
    static let counterID = id(.counter, 0)

    private static func tagIDs(_ number: Int) -> Set<UUID> { [id(.tag, number % tags), id(.tag, number / 2 % tags)] }

    /// Write `number`: increments the counter, inserts a habit with tags and entries, changes the records of the two writes before, deletes an old
    /// habit
    /// with its entries, and leaves a permanent record of itself.
    static func write(_ number: Int, in transaction: any WriteTransaction) throws {
        if try transaction.model(Tag.self, id: id(.tag, 0)) == nil {
            for tag in 0..<tags { try transaction.insert(Tag(id: id(.tag, tag), name: "tag \(tag)")) }
            try transaction.insert(Habit(id: counterID, name: "none", createdAt: date(0)))
        }
        guard var counter = try transaction.model(Habit.self, id: counterID) else {
            throw HabitStoreError(.internalInconsistency, "the record that counts the writes is missing")
        }
        counter.streak += 1
        counter.name = author(number)
        try transaction.save(counter)
        let habit = id(.habit, number)
        try transaction.insert(
            Habit(id: habit, name: "habit \(number)", createdAt: date(number), tagIDs: tagIDs(number))
        )
        for kind in [Kind.morning, .evening] {
            try transaction.insert(
                Entry(id: id(kind, number), date: date(number), note: "\(kind)", value: Double(number), habitID: habit)
            )
        }
        if var before = try transaction.model(Habit.self, id: id(.habit, number - 1)) {
            before.isArchived = true
            before.tagIDs = tagIDs(number)
            try transaction.save(before)
        }
        if var entry = try transaction.model(Entry.self, id: id(.evening, number - 2)) {
            entry.note = nil
            entry.habitID = habit
            try transaction.save(entry)
        }
        if number > livingHabits { try transaction.delete(Habit.self, id: id(.habit, number - livingHabits)) }
        try transaction.insert(Draft(id: id(.log, number), content: "\(number)", creationDate: date(number)))
    }
}

/// All records of a store.
struct Contents: Equatable {
    private let habits: [Habit]
    private let entries: [Entry]
    private let tags: [Tag]
    private let drafts: [Draft]

    init(_ transaction: any ReadTransaction) throws {
        habits = try transaction.all(Habit.self)
        entries = try transaction.all(Entry.self)
        tags = try transaction.all(Tag.self)
        drafts = try transaction.all(Draft.self)
    }

    /// The contents of a store after exactly these writes, from the reference in memory.
    init(after numbers: [Int]) throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        // One transaction: what a write leaves does not depend on where one ends.
        try store.write { transaction in
            for number in numbers { try Workload.write(number, in: transaction) }
        }
        self = try store.read { try Contents($0) }
    }
}
