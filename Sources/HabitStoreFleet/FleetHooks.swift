import DurableFiles
import Foundation
import HabitStore
import Synchronization

extension Fleet {
    /// The result of an attempt to notify a hook.
    public struct HookTry: Sendable, Hashable, Encodable {
        /// The hook's name.
        public let name: String
        /// How many lines were delivered.
        public let told: Int
        /// Why delivery stopped, in the words that follow the hook's name; nil if nothing is pending.
        public let failure: String?
    }

    /// The delivery status of each hook of the plan.
    ///
    /// - Throws: an error if the plan, the ledger or the hooks' file cannot be read.
    public func hooks() throws -> [HookStatus] {
        let hooks = try plan().hooks
        guard !hooks.isEmpty else { return [] }
        let (places, contents) = (try HookPlaces(folder), try ledger.read())
        return hooks.map { HookStatus($0, places[$0.name], contents) }
    }

    /// Delivers pending lines to hooks, to each until a delivery fails.
    ///
    /// - Parameters:
    ///   - name: the only hook to notify; nil for all.
    ///   - limitSeconds: the most to wait for each answer, and when to begin no further line; nil for the plan's timeout.
    /// - Throws: ``HabitStoreError/Code/busy`` during a run, which delivers them itself; ``HabitStoreError/Code/notFound`` if the plan has no such
    ///   hook; an error if the files cannot be read.
    public func tellHooks(_ name: String? = nil, limitSeconds: Double? = nil) throws -> [HookTry] {
        let refusal = hooksRefusal()
        let hooks = try hooks(called: name)
        guard !hooks.isEmpty else { return [] }
        if let refusal {
            // Not the lock: taking it would make a file that the folder's owner cannot open.
            guard !isRunning else { throw hooksAreBusy() }
            return hooks.map { HookTry(name: $0.name, told: 0, failure: refusal.description) }
        }
        let lease = try takeHooksLease()
        defer { withExtendedLifetime(lease) {} }
        // A hook may know more than a truncated ledger.
        _ = try wholeLedger(by: try? FleetIndex.open(folder))
        let outbox = try outbox()
        let deadline = limitSeconds.map { ContinuousClock.now + .seconds($0) }
        return beside(hooks, limitSeconds) { hook in
            let (told, failure, problem) = outbox.send(to: hook, until: deadline)
            return HookTry(name: hook.name, told: told, failure: failure?.description ?? problem.map { "\($0)" })
        }
    }

    /// Sends a test message, which reports no event.
    ///
    /// - Parameter name: the only hook to test; nil for all.
    public func testHooks(_ name: String? = nil) throws -> [HookTry] {
        let refusal = hooksRefusal()
        let hooks = try hooks(called: name)
        guard !hooks.isEmpty else { return [] }
        let fleet = FleetName(root: root, waves: [])
        return beside(hooks, nil) { hook in
            if let refusal { return HookTry(name: hook.name, told: 0, failure: refusal.description) }
            do {
                let message = try HookMessage(test: fleet, at: Date(), to: hook)
                try HookProgram.deliver(message, to: hook)
                return HookTry(name: hook.name, told: 1, failure: nil)
            } catch {
                return HookTry(name: hook.name, told: 0, failure: "\(error)")
            }
        }
    }

    /// Notifies the hooks of what a person has just done and returns one line for each. Failures are reported and never undo what was done.
    public func tellHooksInWords() -> [String] {
        do {
            return try tellHooks(limitSeconds: Self.personSeconds).map { hook in
                let failed = hook.failure.map { "the hook \(hook.name) \($0); the next run tries again" }
                return failed ?? "the hook \(hook.name) has been notified"
            }
        } catch let error as HabitStoreError where error.code == .busy {
            return ["the run that is at work notifies the hooks"]
        } catch {
            return ["the hooks could not be notified: \(error)"]
        }
    }

    /// The most that a person waits for a hook.
    private static let personSeconds = 3.0

    /// Runs the body for all hooks at the same time, each on its own thread.
    private func beside(
        _ hooks: [FleetPlan.Hook],
        _ limitSeconds: Double?,
        _ body: @escaping @Sendable (FleetPlan.Hook) -> HookTry
    ) -> [HookTry] {
        let (results, group) = (Tries(), DispatchGroup())
        for (number, hook) in hooks.enumerated() {
            var hook = hook
            if let limitSeconds { hook.timeoutSeconds = min(hook.timeoutSeconds, limitSeconds) }
            group.enter()
            Thread.detachNewThread { [hook] in
                results.all.withLock { $0[number] = body(hook) }
                group.leave()
            }
        }
        group.wait()
        return results.all.withLock { all in all.sorted { $0.key < $1.key }.map(\.value) }
    }

    private final class Tries: Sendable {
        let all = Mutex<[Int: HookTry]>([:])
    }

    /// Why no hook may be run: others can change the plan that names its program. Ask before reading the plan; nil if only root and this process's
    /// user can.
    func hooksRefusal() -> HookFailure? {
        do {
            try folder.requireOwnHooks()
            return nil
        } catch {
            return HookFailure("cannot be run: \(error)")
        }
    }

    private func hooks(called name: String?) throws -> [FleetPlan.Hook] {
        let hooks = try plan().hooks
        guard let name else { return hooks }
        guard let hook = hooks.first(where: { $0.name == name }) else {
            let names = hooks.map(\.name).joined(separator: ", ")
            throw HabitStoreError(
                .notFound,
                "the plan has no hook \"\(name)\"" + (names.isEmpty ? "" : "; it has \(names)"),
                at: .init(path: folder.path)
            )
        }
        return [hook]
    }

    private func takeHooksLease() throws -> LockedFile {
        do {
            return try LockedFile(folder.hooksLease, timeoutSeconds: 0)
        } catch {
            guard !error.isBusy else { throw hooksAreBusy() }
            throw HabitStoreError(
                .inputOutput,
                "the hooks' lock cannot be taken: \(error)",
                at: .init(path: folder.hooksLease)
            )
        }
    }

    private func hooksAreBusy() -> HabitStoreError {
        HabitStoreError(.busy, "a run is at work, which notifies the hooks", at: .init(path: folder.hooksLease))
    }

    private func outbox() throws -> HookOutbox {
        let waves = try FleetMembers.load(folder.members).waves
        return HookOutbox(fleet: FleetName(root: root, waves: waves), ledger: ledger, places: try HookPlaces(folder))
    }

    /// Delivers to the hooks of a run's plan; nil without hooks.
    ///
    /// - Parameter refusal: why no hook may be run, asked before the plan was read.
    func deliveries(
        _ plan: FleetPlan,
        _ members: FleetMembers,
        refusal: HookFailure?
    ) throws -> HookDeliveries? {
        guard !plan.hooks.isEmpty else { return nil }
        var lease: LockedFile?
        do {
            // A command may be notifying the hooks.
            if refusal == nil { lease = try LockedFile(folder.hooksLease, timeoutSeconds: Self.commandSeconds) }
        } catch {
            throw HabitStoreError(
                error.isBusy ? .busy : .inputOutput,
                "the hooks' lock cannot be taken: \(error)",
                at: .init(path: folder.hooksLease)
            )
        }
        let outbox = HookOutbox(
            fleet: FleetName(root: root, waves: members.waves),
            ledger: ledger,
            places: try HookPlaces(folder)
        )
        return HookDeliveries(plan.hooks, outbox, lease: lease, refusal: refusal)
    }

    /// How long a run waits for a command that notifies the hooks.
    private static let commandSeconds = 30.0

    /// Hooks that are new in a plan are notified from now on, starting with the plan's own line.
    func beginHooks(_ plan: FleetPlan) throws {
        guard !plan.hooks.isEmpty, let head = try ledger.read().heads.last else { return }
        let places = try HookPlaces(folder)
        for hook in plan.hooks where places[hook.name] == nil {
            try places.update(hook.name) { $0.told = head }
        }
    }
}

/// The delivery status of a hook.
public struct HookStatus: Sendable, Hashable, Encodable {
    /// The hook's name.
    public let name: String
    /// Whether waves wait for its confirmation.
    public let confirmsWaves: Bool
    /// The number of the last ledger line that was delivered; nil for none.
    public let told: Int?
    /// When that line was delivered.
    public let toldAt: Date?
    /// How many lines are pending.
    public let owed: Int
    /// Why the last try failed, in the words after the hook's name; nil after a success.
    public let failure: String?
    /// Since when tries have failed.
    public let failingSince: Date?

    init(_ hook: FleetPlan.Hook, _ place: HookPlaces.Place?, _ contents: FleetLedger.Contents) {
        (name, confirmsWaves) = (hook.name, hook.confirmsWaves)
        told = place?.told.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) }
        (toldAt, failure, failingSince) = (place?.toldAt, place?.failure, place?.failingSince)
        owed = HookOutbox.owed(hook, place, contents).count
    }
}
