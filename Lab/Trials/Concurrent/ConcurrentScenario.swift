import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Several processes at the same time, and the events among them. The seed and the number determine it, but not its result, since the processes race.
struct ConcurrentScenario: CustomStringConvertible {
    /// One process of a scenario.
    struct Part: CustomStringConvertible {
        let duties: [ConcurrentDuty]
        let isSilent: Bool
        /// Whether its flag file names the other engine as the old one.
        let isExchanged: Bool
        let crashPoint: String?
        let seed: UInt64
        /// Whether it is killed at the end; otherwise its standard input ends.
        let isKilled: Bool
        /// The troubles that it causes itself now and then.
        let troubles: [ConcurrentTrouble]
        /// Whether the first trouble lasts until the end.
        let isLasting: Bool
        /// Whether an earlier version runs it, if there is one.
        let isPrevious: Bool

        var description: String {
            var words = [duties.map(\.rawValue).joined(separator: "+")]
            if isSilent { words.append("silent") }
            if isExchanged { words.append("exchanged") }
            if isPrevious { words.append("previous") }
            if let crashPoint { words.append("@\(crashPoint)") }
            if !troubles.isEmpty { words.append("with \(troubles.map(\.rawValue).joined(separator: "+"))") }
            if !troubles.isEmpty, isLasting { words.append("lasting") }
            return words.joined(separator: " ")
        }
    }

    let number: Int
    let old: EngineName
    let start: ConcurrentTemplate
    let parts: [Part]
    let events: [ConcurrentEvent]
    let seconds: Double
    let tampering: ConcurrentTampering?
    /// Whether the processes start without the control file.
    let lacksControl: Bool
    /// Whether the evidence is long enough that a checkpoint is due.
    var hasLongEvidence: Bool {
        parts.contains { $0.duties.contains(.filing) || $0.crashPoint?.hasPrefix("evidence.") == true }
    }

    /// The main duties of the processes; the others are drawn at random.
    private static let themes: [(starts: [ConcurrentTemplate], duties: [ConcurrentDuty], isTroubled: Bool)] = [
        ([.missing, .pruned], [.killing, .rearming], false), ([.filled], [.moving, .toggling], false),
        ([.differing], [.verifying, .promoting], true), (ConcurrentTemplate.stages, [.moving, .killing], true),
        (ConcurrentTemplate.stages, [.moving, .killing], false), (ConcurrentTemplate.stages, [.killing], false),
        (ConcurrentTemplate.stages, [.shiftingClock, .moving], false),
        (ConcurrentTemplate.stages, [.reading, .verifying], true),
        (ConcurrentTemplate.stages, [.toggling, .moving], false),
        (ConcurrentTemplate.all, ConcurrentDuty.allCases, false),
        ([.missing, .pruned], [.moving, .toggling, .killing], false),
        ([.stage(.live), .stage(.rampdown)], [.moving, .reading], false),
    ]

    init(seed: UInt64, number: Int) {
        self.number = number
        var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        old = EngineName.standard[number % 2]
        // In turn, so that a short sweep includes all of them.
        let theme = Self.themes[number / 2 % Self.themes.count]
        start = theme.starts.randomElement(using: &generator) ?? .filled
        seconds = Double.random(in: 0.3...1.6, using: &generator)
        let count = Int.random(in: 2...4, using: &generator)
        let (start, isTroubled) = (start, theme.isTroubled)
        parts = (0..<count).map { place in
            Self.part(place, theme.duties, start, isTroubled: isTroubled, &generator)
        }
        let mayBePutBack = Int.random(in: 0..<5, using: &generator) == 0 && start != .differing
        tampering = mayBePutBack ? ConcurrentTampering.allCases.randomElement(using: &generator) : nil
        lacksControl = Int.random(in: 0..<8, using: &generator) == 0
        events = Self.events(count, seconds, &generator)
    }

    private static func part(
        _ place: Int,
        _ duties: [ConcurrentDuty],
        _ start: ConcurrentTemplate,
        isTroubled: Bool,
        _ generator: inout SeededGenerator
    ) -> Part {
        var own = [duties[place % duties.count]]
        for duty in ConcurrentDuty.allCases where Int.random(in: 0..<6, using: &generator) == 0 { own.append(duty) }
        // A kill for all users keeps all other processes where they are.
        if Int.random(in: 0..<4, using: &generator) > 0 { own.removeAll { $0 == .killingAll } }
        if own.contains(where: { $0 == .killing || $0 == .killingAll }), !own.contains(.rearming),
            Bool.random(using: &generator)
        {
            own.append(.rearming)
        }
        var point: String?
        if let name = CrashPoint.all.randomElement(using: &generator), Int.random(in: 0..<3, using: &generator) == 0 {
            point = "\(name):\(Scenario.isOften(name) ? Int.random(in: 1...20, using: &generator) : 1)"
        }
        // A crash point that only one duty reaches needs that duty.
        switch point?.split(separator: ":").first {
        case "evidence.archived", "evidence.shortened", "evidence.reset": own = [.filing]
        case "evidence.checkpointed", "selfComparison.copied": own.append(.moving)
        case "prune.authority", "prune.mirror": own.append(.pruning)
        case "kill.latched", "kill.fenced": own.append(.killing)
        default: break
        }
        // A duty that makes the stores equal again would hide the difference.
        if start == .differing { own.removeAll(where: \.canHeal) }
        let hasTroubles = isTroubled || Int.random(in: 0..<5, using: &generator) == 0
        return Part(
            duties: own,
            isSilent: Int.random(in: 0..<5, using: &generator) == 0,
            isExchanged: Int.random(in: 0..<6, using: &generator) == 0,
            crashPoint: point,
            seed: generator.next(),
            isKilled: Bool.random(using: &generator),
            troubles: hasTroubles ? troubles(&generator) : [],
            isLasting: Int.random(in: 0..<5, using: &generator) == 0,
            isPrevious: Int.random(in: 0..<3, using: &generator) == 0
        )
    }

    private static func troubles(_ generator: inout SeededGenerator) -> [ConcurrentTrouble] {
        let all = ConcurrentTrouble.allCases.shuffled(using: &generator)
        return Array(all.prefix(Int.random(in: 1...3, using: &generator)))
    }

    private static func events(_ count: Int, _ seconds: Double, _ generator: inout SeededGenerator) -> [ConcurrentEvent]
    {
        var events: [ConcurrentEvent] = []
        for process in 0..<count {
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let at = Double.random(in: 0.05...seconds, using: &generator)
                let isLong = Int.random(in: 0..<3, using: &generator) == 0
                let pause = Double.random(in: isLong ? 0.6...1.8 : 0.02...0.4, using: &generator)
                events.append(ConcurrentEvent(seconds: at, kind: .stop, process: process))
                events.append(ConcurrentEvent(seconds: at + pause, kind: .goOn, process: process))
            }
            guard Int.random(in: 0..<3, using: &generator) == 0 else { continue }
            let at = Double.random(in: 0.05...seconds, using: &generator)
            events.append(ConcurrentEvent(seconds: at, kind: .kill, process: process))
            if Bool.random(using: &generator) {
                events.append(ConcurrentEvent(seconds: at + 0.05, kind: .begin, process: process))
            }
        }
        let at = Double.random(in: 0.1...seconds, using: &generator)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: events.append(ConcurrentEvent(seconds: at, kind: .replaceSQLite, process: 0))
        case 1: events.append(ConcurrentEvent(seconds: at, kind: .replaceLMDB, process: 0))
        case 2:
            events.append(ConcurrentEvent(seconds: at / 2, kind: .hideEvidence, process: 0))
            events.append(ConcurrentEvent(seconds: at, kind: .showEvidence, process: 0))
        default: break
        }
        return events.sorted { $0.seconds < $1.seconds }
    }

    var description: String {
        let parts = parts.map(\.description).joined(separator: " | ")
        return "scenario \(number): \(start)\(lacksControl ? " without control" : ""), from \(old.rawValue), [\(parts)]"
            + (tampering.map { ", then \($0.rawValue)" } ?? "")
            + (events.isEmpty ? "" : "; \(events.map(\.description).joined(separator: ", "))")
    }
}

/// An event that the sweep causes in one of its processes.
struct ConcurrentEvent: CustomStringConvertible {
    enum Kind: String {
        case stop, goOn, kill, begin, replaceSQLite, replaceLMDB, hideEvidence, showEvidence
    }

    /// The time in seconds since the processes were started.
    let seconds: Double
    let kind: Kind
    /// The place of the process.
    let process: Int

    var description: String { "\(Int(seconds * 1_000)) ms \(kind.rawValue) \(process)" }
}

/// A duty of a process of the concurrent sweep, in addition to writing.
enum ConcurrentDuty: String, CaseIterable, ExpressibleByArgument {
    /// Reads, and looks for its own last acknowledged write.
    case reading
    /// Moves the user forward and back.
    case moving
    /// Closes and reopens the user, each time with another engine in the flags.
    case toggling
    /// Pulls the kill switch and completes the kill.
    case killing
    /// Pulls it for all users.
    case killingAll
    /// Re-arms.
    case rearming
    /// Prunes history.
    case pruning
    /// Compares the stores.
    case verifying
    /// Archives the evidence or resets it.
    case filing
    /// Looks for problems and repairs them.
    case mending
    /// Moves the user forward, never back.
    case promoting
    /// Sets its process's clock a day forward, a day back, and right again.
    case shiftingClock

    /// Whether it makes differing stores equal, or resets the evidence.
    var canHeal: Bool { ![.reading, .verifying, .promoting, .pruning, .shiftingClock].contains(self) }

    /// The duties that earlier versions also know.
    static let known: [Self] = [.reading, .moving, .toggling, .killing, .killingAll, .rearming, .pruning, .verifying]
}

/// Tampering with a user's files after all processes have ended.
enum ConcurrentTampering: String, CaseIterable {
    case olderSQLite, olderLMDB, olderControl, olderEvidence
    case missingSQLite, missingLMDB, missingControl, missingEvidence
    /// The whole folder is restored from an earlier copy.
    case olderFolder
}

/// The state of the sweep's user when the processes start.
enum ConcurrentTemplate: Hashable, CustomStringConvertible {
    /// A few records, at a stage.
    case stage(Stage)
    /// Thousands of records at `off`, so that the mirror's first copy takes long.
    case filled
    /// Thousands of records at `complete`, with the old store removed: the way back is a copy.
    case missing
    /// Thousands of records at `complete`, with a history that does not reach back to the old store: the way back is a copy.
    case pruned
    /// Thousands of records at `shadow`, one of which the mirror lacks.
    case differing

    static let stages = Stage.allCases.map { Self.stage($0) }
    static let all = stages + [.filled, .missing, .pruned]

    /// The stage of the user.
    var at: Stage {
        switch self {
        case .stage(let stage): stage
        case .filled: .off
        case .missing, .pruned: .complete
        case .differing: .shadow
        }
    }

    /// The number of records in addition to those of counted writes.
    var bulk: Int {
        if case .stage = self { return 0 }
        return 2_000
    }

    var description: String {
        switch self {
        case .stage(let stage): stage.rawValue
        case .filled: "off with many records"
        case .missing: "complete without the old store"
        case .pruned: "complete with its history pruned"
        case .differing: "shadow with a mirror that differs"
        }
    }
}
