import FeatureFlags
import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// An app with its own flag service had to write the flags into a file.
struct FlagProviderTests {
    @Test func aUserGoesWhereTheProviderLeads() throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(store.wantedStage == .off && store.notes.isEmpty)
        try provided.bring(store, to: .live)
        #expect(try store.engine() == provided.user.new)
        provided.flags.want(.off)
        store.reloadFlags()
        #expect(try store.stage() == .off)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test func aUserIsPutOnAnEngineDirectlyAndBackAsOftenAsTheFlagHasAnotherVersion() throws {
        let provided = try ProvidedUser(nil)
        let store = try provided.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        store.close()
        for (version, engine) in [provided.user.new, provided.user.old, provided.user.new, provided.user.old]
            .enumerated()
        {
            provided.flags.change { script in
                script.flags[RolloutFlags.backend] = .string(engine.rawValue)
                script.version = version
            }
            let opened = try provided.stores().store(for: "alice")
            defer { opened.close() }
            #expect(try opened.engine() == engine)
            #expect(try opened.all(Habit.self).count == 1)
        }
    }

    /// A provider's fault, and the note about it.
    enum Fault: CaseIterable {
        case throwing, failing, stale, notAStage, notAText, notAnEngine, notAKill, changing, silent

        var note: String {
            switch self {
            case .throwing: "the remote configuration is not there"
            case .failing: "still connecting [PROVIDER_NOT_READY]"
            case .stale: "may be out of date"
            case .notAStage: "is not a stage"
            case .notAText: "is not a string"
            case .notAnEngine: "is not an engine"
            case .notAKill: "is neither true nor false"
            case .changing: "has changed its answers while it gave them"
            case .silent: "has neither habit-store-stage nor habit-store-backend"
            }
        }

        func plant(_ script: inout ScriptedFlags.Script) {
            script.flags[RolloutFlags.stage] = .string("off")
            switch self {
            case .throwing: script.faults[""] = { _ in throw ScriptedFlags.Failure() }
            case .failing:
                script.faults[RolloutFlags.stage] = { _ in
                    Resolution(reason: .error, errorCode: .providerNotReady, errorMessage: "still connecting")
                }
            case .stale: script.reason = .stale
            case .notAStage: script.flags[RolloutFlags.stage] = .string("banana")
            case .notAText: script.flags[RolloutFlags.stage] = .list([.null])
            case .notAnEngine: script.flags[RolloutFlags.old] = .string("paper")
            case .notAKill: script.flags[RolloutFlags.kill] = .string("no")
            case .changing:
                script.faults[RolloutFlags.stage] = { number in
                    Resolution(
                        value: .string(number.isMultiple(of: 2) ? "off" : "complete"),
                        variant: "v",
                        reason: .static
                    )
                }
            case .silent:
                script.flags[RolloutFlags.stage] = nil
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func aProviderThatIsWrongMovesNobody(_ fault: Fault) throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        try provided.bring(store, to: .live)
        let epoch = store.files.leases.load()?.actual.epoch
        provided.flags.change(fault.plant)
        store.reloadFlags()
        try store.save(Habit(name: "Run"))
        #expect(try store.stage() == .live)
        #expect(store.wantedStage == nil)
        #expect(
            store.notes.contains { $0.contains("flag provider scripted changes nothing") && $0.contains(fault.note) }
        )
        // The fault does not move the user forward either, and the gate says why.
        #expect(try store.advance() == nil)
        #expect(try store.decision().reasons.contains(.notProposed(wanted: nil)))
        store.close()
        let opened = try provided.stores().store(for: "alice")
        defer { opened.close() }
        #expect(try opened.stage() == .live)
        #expect(opened.files.leases.load()?.actual.epoch == epoch)
        #expect(try opened.all(Habit.self).count == 1)
    }

    /// An engine that only one flag names must be available for new users, too. A failing provider names none, and exchanged the engines of a user at
    /// `off`.
    @Test func theEnginesStayWhileTheProviderFails() throws {
        let user = try StagedUser()
        let flags = ScriptedFlags(.off, of: EnginePair(old: .lmdb, new: .sqlite))
        let stores = try user.stores(flags: .provider(flags))
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        flags.change { $0.faults[""] = { _ in throw ScriptedFlags.Failure() } }
        store.reloadFlags()
        #expect(try store.engine() == .lmdb && store.stage() == .off)
        #expect(store.files.leases.load()?.actual.state.engines == EnginePair(old: .lmdb, new: .sqlite))
        #expect(try stores.status(of: "alice").engine == .lmdb)
    }

    @Test(arguments: [Reason.split, .targetingMatch, .cached, .unknown, Reason(rawValue: "FAR_FETCHED")])
    func anAnswerThatAPercentageMayHaveDecidedTakesNobodyBack(_ reason: Reason) throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        defer { store.close() }
        provided.flags.change { $0.reason = reason }
        try provided.bring(store, to: .shadow)
        provided.flags.want(.off)
        store.reloadFlags()
        #expect(try store.stage() == .shadow)
        #expect(store.wantedStage == .off)
        provided.flags.change { $0.reason = .default }
        store.reloadFlags()
        #expect(try store.stage() == .off)
    }

    /// Percentages took no user back from a stage, but an engine chosen by one did, from the new engine and from `live`.
    @Test(arguments: [Reason.split, .targetingMatch])
    func anEngineThatAPercentageMayHaveChosenTakesNobodyBack(_ reason: Reason) throws {
        let provided = try ProvidedUser()
        provided.flags.change {
            $0.flags = [RolloutFlags.backend: .string("lmdb")]
            $0.reason = reason
        }
        let stores = try provided.stores()
        func stage() throws -> Stage {
            let store = try stores.store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            return try store.stage()
        }
        #expect(try stage() == .complete)
        provided.flags.change { $0.flags = [RolloutFlags.backend: .string("sqlite")] }
        stores.reloadFlags()
        #expect(try stage() == .complete)
        provided.flags.change { $0.reason = .static }
        stores.reloadFlags()
        #expect(try stage() == .off)
    }

    /// A user whom the provider had placed without a percentage also stayed when a percentage answered instead.
    @Test(arguments: [Reason.split, .targetingMatch])
    func aUserWhomNoPercentagePlacedGoesBackByOne(_ reason: Reason) throws {
        let provided = try ProvidedUser()
        let store = try provided.stores().store(for: "alice")
        defer { store.close() }
        provided.flags.change { $0.reason = .static }
        try provided.bring(store, to: .shadow)
        provided.flags.change { $0.reason = reason }
        provided.flags.want(.off)
        store.reloadFlags()
        #expect(try store.stage() == .off)
    }

    /// The percentage chooses the engine, not the stage: a user whom the stage alone sends back goes back.
    @Test func aStageTakesBackWhateverChoosesTheEngine() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .dualwrite)
        let text = """
            {"flags": {
              "habit-store-stage": {"state": "ENABLED", "variants": {"off": "off"}, "defaultVariant": "off"},
              "habit-store-backend": {"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "sqlite",
                "targeting": {"fractional": [["sqlite", 100], ["lmdb", 0]]}}}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: user.flags))
        store.reloadFlags()
        #expect(try store.stage() == .off)
    }

    @Test func aChangeThatIsToldOfIsFollowedAtOnce() async throws {
        let provided = try ProvidedUser()
        let stores = try provided.stores { options in
            options.followsFlags = true
            options.recheckSeconds = 3_600
            options.advanceSeconds = 0.02
        }
        let store = try await stores.store(for: "alice")
        defer { store.close() }
        try provided.bring(store, to: .shadow)
        provided.flags.change { $0.flags[RolloutFlags.kill] = .bool(true) }
        provided.flags.tell()
        // No operation runs: the kill reaches an open user all the same.
        let end = ContinuousClock.now + .seconds(20)
        while store.files.leases.present?.actual.state.isKilled != true, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(store.files.leases.present?.actual.state.isKilled == true)
        #expect(try store.stage() == .off)
    }

    @Test func hooksAreToldWhatTheProviderSays() throws {
        let provided = try ProvidedUser(.dualwrite)
        let told = Exposures()
        let stores = try provided.stores {
            $0.exposureHooks = [FlagExposureHook(hashKey: Data(repeating: 7, count: 32), onExposure: told.add)]
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(Set(told.all.map(\.flagKey)) == [RolloutFlags.stage, RolloutFlags.old, RolloutFlags.new])
    }
}
