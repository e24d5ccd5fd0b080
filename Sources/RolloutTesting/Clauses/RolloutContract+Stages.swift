import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker

/// Each stage does what the table of ``HabitStoreRollout/Stage`` says.
extension RolloutContract {
    static let stageClauses = Stage.allCases.map { stage in
        Clause("at \(stage.rawValue) operations go where the table of the stages says") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: stage)
            let before = try (user.habitCount(.old), user.habitCount(.new))
            try store.save(Habit(name: "Read"))
            try user.expect(store, at: stage, habits: ["Read", "Run"])
            try expect(store.settleMirror(waitSeconds: 60), "the mirror has everything: it is \(store.mirrorStatus)")
            let isWritten = { (side: StoreSide) in stage.authority == side || stage.mirror == side }
            try expectEqual(try user.habitCount(.old), isWritten(.old) ? 2 : before.0, "the old store's habits")
            try expectEqual(try user.habitCount(.new), isWritten(.new) ? 2 : before.1, "the new store's habits")
            store.close()
            // The next process finds the same stage.
            let again = try user.stores().store(for: "alice")
            defer { again.close() }
            try user.expect(again, at: stage, habits: ["Read", "Run"])
        }
    }

    static let killClauses = Stage.allCases.map { stage in
        Clause("the kill switch takes a user back from \(stage.rawValue) without losing a record") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: stage)
            try store.save(Habit(name: "Read"))
            try user.want(stage.rawValue, kill: true)
            store.reloadFlags()
            try user.expect(store, at: .off, habits: ["Read", "Run"])
            try store.save(Habit(name: "Swim"))
            // The kill is latched: neither resetting the flag nor the wanted stage lets the user move forward.
            try user.want("complete")
            store.reloadFlags()
            try expectEqual(try store.stage(), .off, "the stage of a user who was killed")
            try expectEqual(try store.advance()?.reasons, [.killed], "why the gate is closed")
            try store.rearm(by: "the contract")
            try user.bring(store, to: .dualwrite)
            try user.expect(store, at: .dualwrite, habits: ["Read", "Run", "Swim"])
            try user.expectEqualStores()
        }
    }

    static let journeyClauses = [
        Clause("a user goes all the way there and all the way back, one stage at a time") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            var names: [String] = []
            func write(at stage: Stage, _ way: String) throws {
                names.append("\(way) \(stage.rawValue)")
                try store.save(Habit(name: names[names.count - 1]))
                try user.expect(store, at: stage, habits: names)
                guard stage.mirror != nil else { return }
                try expect(store.settleMirror(waitSeconds: 60), "the mirror has everything")
                try user.expectEqualStores()
            }
            try write(at: .off, "at")
            for stage in Stage.allCases.dropFirst() {
                try user.bring(store, to: stage)
                try write(at: stage, "at")
            }
            for stage in Stage.allCases.dropLast().reversed() {
                try store.demote()
                try write(at: stage, "back at")
            }
        }
    ]
}
