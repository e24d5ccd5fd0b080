import Foundation
import HabitStore
import HabitStoreTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The kill switch works without the new store, and lands on a store that is current or nowhere.
@Suite(.timeLimit(.minutes(5)))
struct KillFaultTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let fault: Fault
        let old: EngineName

        var testDescription: String { "\(stage.rawValue) from \(old.rawValue): \(fault)" }
    }

    private static let faults = [
        Fault(.fail(.inputOutput), on: .all),
        Fault(.fail(.corrupt), on: .all),
        Fault(.fail(.permissionDenied), on: .all),
        Fault(.fail(.inputOutput), on: .reads),
        Fault(.fail(.limitExceeded), on: .reads),
        Fault(.fail(.full), on: .writes, at: .beforeCommit),
        Fault(.fail(.outcomeUnknown), on: .writes, at: .beforeCommit),
        Fault(.fail(.outcomeUnknown), on: .writes, at: .afterCommit),
        Fault(.hang, on: .all),
        Fault(.hang, on: .reads),
        Fault(.hang, on: .writes),
        Fault(.hang, on: .writes, at: .beforeCommit),
        Fault(.hang, on: .writes, at: .afterCommit),
    ]

    private static func cells(_ stages: [Stage]) -> [Cell] {
        stages.flatMap { stage in
            faults.enumerated().map { number, fault in
                Cell(stage: stage, fault: fault, old: EngineName.standard[(number + stage.position) % 2])
            }
        }
    }

    static let withWayBack = cells(Stage.allCases.filter { $0 != .complete })
    static let withoutWayBack = cells([.complete])

    @Test(arguments: withWayBack)
    func theKillSwitchTakesTheUserBackWithoutTheNewStore(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: cell.stage, old: cell.old)
        defer { user.heal() }
        let store = try user.open()
        let ledger = Ledger()
        #expect(ledger.write(store) == .acknowledged)
        try user.plan(.new).inject(cell.fault)
        try user.pullTheKillSwitch(store)
        let isOver = await user.withinSeconds(20) {
            ledger.read(store)
            ledger.write(store)
            ledger.read(store)
        }
        #expect(ledger.outcomes == [.acknowledged, .acknowledged])
        #expect(isOver && ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        #expect(try store.stage() == .off)
        #expect(try store.engine() == cell.old)
        // The next process finds the same, while the new store is still what it is.
        let isThere = await user.withinSeconds(20) {
            do {
                let next = try user.open()
                #expect(try next.stage() == .off)
                ledger.read(next)
                ledger.write(next)
            } catch {
                Issue.record("the next process is not served: \(error)")
            }
        }
        #expect(ledger.outcomes.count == 3 && ledger.outcomes.allSatisfy { $0 == .acknowledged }, "\(ledger.outcomes)")
        #expect(isThere && ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        store.close()
        try user.expectRecovery(ledger)
    }

    /// A process that is only started when the new store is gone already, and the switch is pulled.
    @Test(arguments: withWayBack)
    func aProcessThatStartsLaterIsTakenBackToo(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: cell.stage, old: cell.old)
        defer { user.heal() }
        let ledger = Ledger()
        try user.plan(.new).inject(cell.fault)
        try user.staged.want(cell.stage.rawValue, kill: true)
        let isOver = await user.withinSeconds(20) {
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

    /// A write hung in the new store, the kill switch took the user back, and the app's async writes went on to wait behind
    /// the one that hung: they all ran on one thread, on which each waits for the one before it.
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
            Self.write(store, ledger), Task { try await store.fetch(FetchDescriptor<Draft>()).count }
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
        Task.detached {
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

    /// Waits on a thread of its own: the cooperative pool may be busy with other tests for as long.
    private static func isTrue(within seconds: Double, _ condition: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let deadline = ContinuousClock.now + .seconds(seconds)
                while !condition(), ContinuousClock.now < deadline { Thread.sleep(forTimeInterval: 0.002) }
                continuation.resume(returning: condition())
            }
        }
    }

    /// There the old store has stayed behind: it must not be served. Either the new one can still be drained, or nobody is
    /// served what is not there, and writes are refused with a reason.
    @Test(arguments: withoutWayBack)
    func behindTheLastStageNothingStaleIsServed(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: cell.stage, old: cell.old)
        defer { user.heal() }
        let store = try user.open()
        let ledger = Ledger()
        #expect(ledger.write(store) == .acknowledged)
        try user.plan(.new).inject(cell.fault)
        try user.pullTheKillSwitch(store)
        let isOver = await user.withinSeconds(10) {
            ledger.read(store)
            ledger.write(store)
            ledger.read(store)
        }
        if !cell.fault.operations.contains(.read), isOver { #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)") }
        user.heal()
        #expect(ledger.writeAgainAndAgain(store) == .acknowledged)
        #expect(try store.stage() == .off)
        ledger.read(store)
        store.close()
        try user.expectRecovery(ledger)
    }
}
