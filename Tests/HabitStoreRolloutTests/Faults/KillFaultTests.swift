import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The kill switch works without the new store, also for processes that start later and for operations that hang.
@Suite(.timeLimit(.minutes(5)))
struct KillFaultTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let fault: Fault
        let old: EngineName

        var testDescription: String { "\(stage.rawValue) from \(old.rawValue): \(fault)" }
    }

    static let withWayBack = FaultCell.kills.enumerated().filter { $0.element.stage != .complete }.map { number, cell in
        Cell(stage: cell.stage, fault: cell.fault, old: EngineName.standard[(number + cell.stage.position) % 2])
    }

    /// A process that starts after the new store is gone and the kill switch is pulled.
    @Test(arguments: withWayBack)
    func aProcessThatStartsLaterIsTakenBackToo(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: cell.stage, old: cell.old)
        defer { user.heal() }
        let ledger = Ledger()
        try user.plan(.new).inject(cell.fault)
        try user.staged.want(cell.stage.rawValue, kill: true)
        let isOver = await user.withinSeconds(60) {
            do {
                let store = try user.open()
                #expect(try store.stage() == .off)
                #expect(try store.all(Draft.self).count == StageTemplates.names.count)
                #expect(ledger.write(store) == .acknowledged)
                store.close()
            } catch {
                Issue.record("the user is not served: \(error)")
            }
        }
        #expect(isOver)
        try user.expectRecovery(ledger)
    }

    /// An account could read the old store and not write to it (`chmod 0 store.sqlite-lock`). A kill sealed the new store for the handover, could not
    /// give the old one the role or put it on standby again, and left the new one sealed: lists had worked before the kill, and then every read was
    /// refused. Now the new store is opened again and serves reads, writes say why they are refused, and the kill is carried out once it can be.
    @Test(arguments: [Stage.live, .rampdown], EngineName.standard)
    func readsContinueWhileTheOldStoreCannotBeWritten(stage: Stage, old: EngineName) throws {
        let user = try FaultyUser(at: stage, old: old)
        defer { user.heal() }
        try user.plan(.old).inject(Fault(.fail(.permissionDenied), on: [.replicate]))
        try user.staged.want(stage.rawValue, kill: true)
        for _ in 0..<2 {
            let store = try user.open()
            defer { store.close() }
            #expect(try store.all(Draft.self).count == StageTemplates.names.count)
            #expect(try store.engine() == user.staged.new)
            let error = #expect(throws: HabitStoreError.self) { try store.save(Draft(content: "refused")) }
            #expect(error?.code == .permissionDenied, "\(String(describing: error))")
        }
        user.heal()
        let store = try user.open()
        defer { store.close() }
        #expect(try store.stage() == .off)
        #expect(try store.all(Draft.self).count == StageTemplates.names.count)
        try store.save(Draft(content: "taken"))
    }

    /// A kill that waited for the old store reopened the new one in a later epoch, in which nothing was acknowledged. Once that was known as the
    /// user's, the old store counted as one put back from a copy, and no kill led there any more without the new one.
    @Test(arguments: [Stage.live, .rampdown], EngineName.standard)
    func aKillThatWaitedNeedsNoNewStore(stage: Stage, old: EngineName) throws {
        let user = try FaultyUser(at: stage, old: old)
        defer { user.heal() }
        try user.plan(.old).inject(Fault(.fail(.permissionDenied), on: [.replicate]))
        try user.staged.want(stage.rawValue, kill: true)
        for _ in 0..<2 {
            let store = try user.open()
            defer { store.close() }
            #expect(try store.engine() == user.staged.new)
        }
        user.heal()
        try user.plan(.new).inject(Fault(.fail(.corrupt), on: .all))
        let store = try user.open()
        defer { store.close() }
        #expect(try store.stage() == .off)
        #expect(try store.all(Draft.self).count == StageTemplates.names.count)
        try store.save(Draft(content: "taken"))
    }

    /// A write hung in the new store and the kill switch took the user back, but the app's async writes still waited for the hanging one: they all
    /// ran on one thread, one after the other.
    @Test(arguments: [Stage.live, .rampdown], [Fault.Moment.beginning, .beforeCommit, .afterCommit])
    func asyncOperationsAreNotHeldUpByThoseThatHangInTheNewStore(stage: Stage, moment: Fault.Moment) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        let store = try user.open()
        let plan = try user.plan(.new)
        let ledger = Ledger()
        plan.inject(Fault(.hang, on: .writes, at: moment))
        if moment == .beginning { plan.inject(Fault(.hang, on: .reads)) }
        let (hung, reading) = (
            Self.write(store, ledger),
            Task(executorPreference: ThreadPerJob()) { try await store.fetch(FetchDescriptor<Draft>()).count }
        )
        #expect(await Self.isTrue(within: 30) { plan.hanging >= (moment == .beginning ? 2 : 1) })
        try user.pullTheKillSwitch(store)
        let later = Ledger()
        _ = Self.write(store, later)
        #expect(await Self.isTrue(within: 30) { later.outcomes == [.acknowledged] }, "\(later.outcomes)")
        #expect(try store.stage() == .off)
        user.heal()
        await hung.value
        _ = try await reading.value
        store.close()
        try user.expectRecovery(ledger)
        try user.contents(.old) { _ = try later.expectWhole($0, "the old store") }
    }

    private static func write(_ store: UserStore, _ ledger: Ledger) -> Task<Void, Never> {
        Task.detached(executorPreference: ThreadPerJob()) {
            let draft = Draft(content: "draft", creationDate: SampleRecords.referenceDate)
            do {
                try await store.write(author: "ledger") { try $0.insert(draft) }
                ledger.note(draft.id, .acknowledged)
            } catch let error as HabitStoreError {
                ledger.note(draft.id, error.code == .outcomeUnknown ? .unknown : .absent(error.code))
            } catch {
                Issue.record("a write failed without a type: \(error)")
            }
        }
    }

    /// Waits on a separate thread, because other tests may keep the cooperative pool busy.
    private static func isTrue(within seconds: Double, _ condition: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let deadline = ContinuousClock.now + .seconds(seconds)
                while !condition(), ContinuousClock.now < deadline { Thread.sleep(forTimeInterval: 0.002) }
                continuation.resume(returning: condition())
            }
        }
    }
}
