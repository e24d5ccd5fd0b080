import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// A user's folder at each stage, created once, so that a kill costs a copy instead of the way to the stage.
struct Templates {
    private let folder: URL
    private let swept: SweptEngines
    private var writes: [String: Set<Int>] = [:]

    /// The number of writes at `off`, and at each later stage.
    private static let writesAtFirst = 12
    private static let writesAtEach = 2

    init(in parent: URL, of swept: SweptEngines = SweptEngines()) throws {
        self.swept = swept
        folder = parent.appendingPathComponent("templates")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for pair in swept.pairs { try make(pair) }
    }

    private mutating func make(_ pair: EnginePair) throws {
        let root = folder.appendingPathComponent("\(pair.old)-\(pair.new)-making")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, pair)
        try flags.want(.off)
        var number = 0
        for stage in Stage.allCases {
            let user = try SweptUser(root: root.path, flags: flags, options: .sweep, engines: try swept.engines)
            while try user.store.stage() < stage { _ = try user.goForward() }
            for _ in 0..<(stage == .off ? Self.writesAtFirst : Self.writesAtEach) {
                number += 1
                try user.store.write(author: Workload.author(number)) { try Workload.write(number, in: $0) }
            }
            // At `complete` the old store has fallen behind. For half of the pairs the way back replays the history, for the others it is a copy.
            if stage == .complete, swept.forgets(pair) {
                try user.store.pruneHistory(through: try user.store.currentToken())
            }
            user.store.close()
            let name = "\(pair.old)-\(pair.new)-\(stage.rawValue)"
            try swept.copy(root, to: folder.appendingPathComponent(name))
            writes[name] = Set(1...number)
        }
    }

    /// Copies a template.
    ///
    /// - Parameter hasLongEvidence: whether its evidence is long enough that a checkpoint is due.
    /// - Returns: the writes that it contains.
    func copy(_ stage: Stage, _ pair: EnginePair, hasLongEvidence: Bool, to root: URL) throws -> Set<Int> {
        let name = "\(pair.old)-\(pair.new)-\(stage.rawValue)"
        try swept.copy(folder.appendingPathComponent(name), to: root)
        if hasLongEvidence { try LongEvidence.write(EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name))) }
        return writes[name] ?? []
    }
}
