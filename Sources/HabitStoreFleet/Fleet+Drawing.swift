import DurableFiles
import Foundation
import HabitStore
import Hashing

/// Drawing waves is one step: a first drawing is prepared in a separate folder, which is then renamed; a later one counts once its ledger line is
/// written. The next process replaces or finishes what a killed process has left.
extension Fleet {
    /// The steps of a drawing; tests interrupt it at each of them.
    enum DrawingStep: CaseIterable {
        /// The steps of a first drawing.
        case folder, members, plan, index, named
        /// The steps of a later one.
        case drafts, told, renamed
    }

    /// Assigns users to waves without writing anything.
    ///
    /// Waves are drawn once: users who have joined since are added to the last one, and a plan with other waves is refused.
    ///
    /// - Parameters:
    ///   - users: all users, with the size of their stores in bytes.
    ///   - salt: the hexadecimal digits that decide the order of users; nil for random ones.
    /// - Throws: ``HabitStoreError/Code/unsupported`` if the plan's waves differ from those that were drawn.
    public func drawing(
        _ plan: FleetPlan,
        _ users: [(user: String, bytes: Int)],
        salt: String? = nil
    ) throws -> FleetMembers {
        try requireUsers(users.isEmpty)
        guard try isDrawn() else { return FleetMembers(plan, users, salt: salt ?? Self.randomSalt()) }
        let drawn = try FleetMembers.load(folder.members)
        try requireWaves(plan, drawn)
        return drawn.adding(users, plan)
    }

    /// Returns 32 random hexadecimal digits.
    public static func randomSalt() -> String {
        (0..<4).map { _ in
            let digits = String(UInt32.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    private func requireUsers(_ isEmpty: Bool) throws {
        guard isEmpty else { return }
        throw HabitStoreError(.notFound, "there are no users under this root", at: .init(path: root))
    }

    /// Whether waves were drawn.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if part of the drawing is missing.
    private func isDrawn() throws -> Bool {
        let isTold = try ledger.read().entries.contains { if case .drawn = $0.event { true } else { false } }
        guard isTold else {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            guard names.isEmpty else {
                throw HabitStoreError(
                    .corrupt,
                    "there are files of a fleet here, but no ledger with its drawing; put the ledger back, or remove the whole folder to start "
                        + "again",
                    at: .init(path: folder.path)
                )
            }
            return false
        }
        guard FileManager.default.fileExists(atPath: folder.members) else {
            throw HabitStoreError(
                .corrupt,
                "the waves were drawn, but the file of their members is missing; put it back, or remove the whole folder of the fleet to "
                    + "start again",
                at: .init(path: folder.members)
            )
        }
        return true
    }

    /// Checks that a plan has the waves that were drawn.
    func requireWaves(_ plan: FleetPlan, _ drawn: FleetMembers) throws {
        guard drawn.waves == plan.waves.map(\.name) else {
            throw HabitStoreError(
                .unsupported,
                "the waves were drawn already (\(drawn.waves.joined(separator: ", "))), and no user changes waves: keep their names and their "
                    + "number; what each asks for may be changed",
                at: .init(path: folder.members)
            )
        }
    }

    /// Draws the waves and stores the plan.
    ///
    /// - Parameters:
    ///   - text: the plan's source, which is stored.
    ///   - isYAML: whether the source is YAML.
    ///   - person: the author, for the ledger.
    ///   - salt: the hexadecimal digits that decide the order of users; nil for random ones. Waves that were drawn stay.
    ///   - note: receives a message if an earlier drawing was killed.
    /// - Throws: ``HabitStoreError/Code/busy`` during a run; an error if the files cannot be written.
    @discardableResult
    public func draw(
        _ plan: FleetPlan,
        text: Data,
        isYAML: Bool,
        _ users: [(user: String, bytes: Int)],
        by person: String,
        salt: String? = nil,
        note: (String) -> Void = { _ in }
    ) throws -> FleetMembers {
        try draw(plan, text: text, isYAML: isYAML, users, by: person, salt: salt, note: note) { _ in }
    }

    @discardableResult
    func draw(
        _ plan: FleetPlan,
        text: Data,
        isYAML: Bool,
        _ users: [(user: String, bytes: Int)],
        by person: String,
        salt: String?,
        note: (String) -> Void,
        reached: (DrawingStep) throws -> Void
    ) throws -> FleetMembers {
        // Creates nothing if there are no users or a hook cannot run.
        try requireUsers(users.isEmpty)
        if !plan.hooks.isEmpty { try folder.requireOwnHooks() }
        for hook in plan.hooks { try HookProgram(hook).check() }
        let plan = CachedPlan(plan: plan, text: text, isYAML: isYAML)
        return try isDrawn()
            ? drawAgain(plan, users, by: person, note: note, reached: reached)
            : drawFirst(plan, users, by: person, salt: salt, note: note, reached: reached)
    }

    private struct CachedPlan {
        let plan: FleetPlan
        let text: Data
        let isYAML: Bool

        var ending: String { isYAML ? ".yaml" : ".json" }
        var digest: String { SHA256.hash(data: text).hexadecimal }
    }

    private func drawFirst(
        _ plan: CachedPlan,
        _ users: [(user: String, bytes: Int)],
        by person: String,
        salt: String?,
        note: (String) -> Void,
        reached: (DrawingStep) throws -> Void
    ) throws -> FleetMembers {
        let draft = folder.draft
        let isLeft = FileManager.default.fileExists(atPath: draft.path)
        try draft.make()
        // The lock moves with the folder, and then is the lock of runs.
        let lease = try takeLease(draft)
        defer { withExtendedLifetime(lease) {} }
        guard try !isDrawn(), FileManager.default.fileExists(atPath: draft.lease) else { throw drawnMeanwhile() }
        if isLeft {
            note(
                "files of a `\(OperatorCommand.name) fleet plan` that was killed are replaced; nothing had been drawn"
            )
        }
        try clear(draft)
        try reached(.folder)
        let members = FleetMembers(plan.plan, users, salt: salt ?? Self.randomSalt())
        try write(members.data, to: draft.members, "the fleet's members")
        try reached(.members)
        try write(plan.text, to: draft.plan + plan.ending, "the plan")
        try reached(.plan)
        let head = try FleetLedger(draft, clock).append(
            .drawn(users: members.members.count, digest: members.digest, by: person, plan: plan.digest)
        )
        try FleetIndex.make(draft, members, head: head)
        try reached(.index)
        do {
            try DurableFile.move(draft.path, to: folder.path)
        } catch {
            if [ENOTEMPTY, EEXIST, ENOENT].contains(error.number) { throw drawnMeanwhile() }
            throw HabitStoreError.system(error, "the fleet's folder")
        }
        try reached(.named)
        return members
    }

    private func drawnMeanwhile() -> HabitStoreError {
        HabitStoreError(
            .busy,
            "another `\(OperatorCommand.name) fleet plan` has just drawn the waves; try again",
            at: .init(path: folder.path)
        )
    }

    /// Removes the files of a killed drawing, except the lock.
    func clear(_ draft: FleetFolder) throws {
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: draft.path)
            where draft.path + "/" + name != draft.lease {
                _ = try DurableFile.remove(draft.path + "/" + name)
            }
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure, "the files of an earlier drawing")
        }
    }

    private func drawAgain(
        _ plan: CachedPlan,
        _ users: [(user: String, bytes: Int)],
        by person: String,
        note: (String) -> Void,
        reached: (DrawingStep) throws -> Void
    ) throws -> FleetMembers {
        let lease = try takeLease(folder)
        defer { withExtendedLifetime(lease) {} }
        try finishDrawing(note)
        let members = try drawing(plan.plan, users)
        let index = try FleetIndex.open(folder)
        try beginHooks(plan.plan)
        try write(members.data, to: folder.members + Self.next, "the fleet's members")
        try write(plan.text, to: folder.plan + plan.ending + Self.next, "the plan")
        try reached(.drafts)
        let head = try ledger.append(
            .drawn(users: members.members.count, digest: members.digest, by: person, plan: plan.digest)
        )
        try reached(.told)
        try finishDrawing()
        try reached(.renamed)
        try index.add(members.members)
        try index.set(FleetIndex.head, head)
        return members
    }

    /// The suffix of files that replace others once the ledger records them.
    static let next = ".next"

    /// Finishes a drawing that was killed: moves the files that the ledger records into place and removes others. The caller holds the lease.
    func finishDrawing(_ note: (String) -> Void = { _ in }) throws {
        let events = try ledger.read().entries.map(\.event)
        let digest = events.lazy.reversed().compactMap { event -> String? in
            switch event {
            case .drawn(_, let digest, _, _), .joined(_, let digest): digest
            case .forgotten(let digest, _, _): digest
            default: nil
            }
        }.first
        let plan = events.lazy.reversed().compactMap { event -> String? in
            if case .drawn(_, _, _, let plan) = event { plan } else { nil }
        }.first
        do {
            let members = folder.members + Self.next
            if let data = try FleetFolder.contents(members, "the fleet's members") {
                if FleetMembers(data)?.digest == digest {
                    try DurableFile.move(members, to: folder.members)
                } else {
                    _ = try DurableFile.remove(members)
                    note(
                        "files of a `\(OperatorCommand.name) fleet plan` that was killed are removed; the earlier plan applies"
                    )
                }
            }
            for (ending, other) in [(".json", ".yaml"), (".yaml", ".json")] {
                let path = folder.plan + ending + Self.next
                guard let data = try FleetFolder.contents(path, "the plan") else { continue }
                guard SHA256.hash(data: data).hexadecimal == plan else {
                    _ = try DurableFile.remove(path)
                    continue
                }
                // Removes the other one first: two plans are refused, and the next process would finish neither.
                _ = try DurableFile.remove(folder.plan + other)
                try DurableFile.move(path, to: folder.plan + ending)
            }
        } catch let failure as FileFailure {
            throw HabitStoreError.system(failure, "a file of the fleet")
        }
    }

    /// Replaces a file atomically.
    func write(_ data: Data, to path: String, _ what: String) throws {
        do {
            try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError.system(error, what)
        }
    }
}
