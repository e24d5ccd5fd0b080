import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker

/// After a complete rollout, the next one may lead back.
extension RolloutContract {
    static let turningClauses = [
        Clause("a user at complete goes back to the first engine by a new rollout") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: .complete)
            try store.save(Habit(name: "Read"))
            let back = EnginePair(old: user.new, new: user.old)
            try user.want("off", of: back)
            store.reloadFlags()
            try expectEqual(try store.stage(), .off, "the stage where the next rollout begins")
            try expectEqual(try store.engine(), user.new, "the engine where the next rollout begins")
            var names = ["Read", "Run"]
            for stage in Stage.allCases.dropFirst() {
                try user.bring(store, to: stage, of: back)
                names.append("back at \(stage.rawValue)")
                try store.save(Habit(name: names[names.count - 1]))
                try expectEqual(try store.all(Habit.self).map(\.name).sorted(), names.sorted(), "what is read")
                guard stage.mirror != nil else { continue }
                try expect(store.settleMirror(waitSeconds: 60), "the mirror has everything")
                try user.expectEqualStores()
            }
            try expectEqual(try store.engine(), user.old, "the engine that serves in the end")
            store.close()
            let again = try user.stores().store(for: "alice")
            defer { again.close() }
            try expectEqual(try again.engine(), user.old, "the engine that serves the next process")
            try expectEqual(
                try again.all(Habit.self).map(\.name).sorted(),
                names.sorted(),
                "what the next process reads"
            )
        }
    ]
}
