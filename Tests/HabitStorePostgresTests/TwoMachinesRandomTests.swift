import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import RolloutTesting
import Synchronization
import Testing

/// Both machines write, read, move the user, pull the kill switch and re-arm at the same time. In the end every acknowledged write is present once,
/// wherever it was written, and no read has ever returned less than was acknowledged before it began.
@Suite(.needsServer) struct TwoMachinesRandomTests {
    /// The results of the writers and readers.
    private final class Told: Sendable {
        let written = Mutex<Set<String>>([])
        let unknown = Mutex<Set<String>>([])
        let complaints = Mutex<[String]>([])
        let moves = Atomic<Int>(0)
    }

    private static let seconds = 6.0
    private static let writersEach = 2
    private static let pauseSeconds = 0.02

    @Test func nothingIsLostWhileBothMoveTheUser() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("two machines: seed \(seed)")
        let machines = try TwoMachines()
        try machines.want(.complete)
        let (a, b) = (try machines.a.stores(), try machines.b.stores())
        let stores = [try a.store(for: "alice"), try b.store(for: "alice")]
        defer { for store in stores { store.close() } }
        let told = Told()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let threads = DispatchGroup()
        func repeatedly(_ body: @escaping @Sendable () -> Void) {
            threads.enter()
            Thread.detachNewThread {
                while ContinuousClock.now < end { body() }
                threads.leave()
            }
        }
        for (machine, store) in stores.enumerated() {
            for writer in 0..<Self.writersEach {
                let number = Mutex(0)
                repeatedly {
                    Self.write("\(machine)-\(writer)-\(number.withLock { $0 += 1; return $0 })", store, told)
                }
            }
            repeatedly { Self.read(store, told, "machine \(machine)") }
            let user = machine == 0 ? machines.a : machines.b
            let random = Mutex(SeededGenerator(seed: seed &+ UInt64(machine)))
            repeatedly {
                let step = random.withLock { $0.int(0...7) }
                if Self.move(store, user, step) { told.moves.add(1, ordering: .relaxed) }
            }
        }
        threads.wait()
        #expect(told.complaints.withLock { $0.isEmpty }, "\(told.complaints.withLock { $0.prefix(5) })")
        for machine in [machines.a, machines.b] { try machine.want("off") }
        for store in stores { store.reloadFlags() }
        let found = try stores.map { try $0.fetch(FetchDescriptor<Habit>()).map(\.name) }
        #expect(found[0].sorted() == found[1].sorted())
        #expect(Set(found[0]).count == found[0].count)
        #expect(try stores[0].stage() == stores[1].stage())
        let (written, doubtful) = (told.written.withLock { $0 }, told.unknown.withLock { $0 })
        #expect(written.subtracting(found[0]).isEmpty)
        #expect(Set(found[0]).subtracting(written).subtracting(doubtful).isEmpty)
        print(
            "two machines: \(written.count) acknowledged, \(doubtful.count) unknown, \(told.moves.load(ordering: .relaxed)) moves, at \(try stores[0].stage())"
        )
    }

    private static func write(_ name: String, _ store: UserStore, _ told: Told) {
        // Leaves time for moving the user.
        Thread.sleep(forTimeInterval: pauseSeconds)
        do {
            try store.write { try $0.insert(Habit(name: name)) }
            _ = told.written.withLock { $0.insert(name) }
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            _ = told.unknown.withLock { $0.insert(name) }
        } catch {
            // It was refused, and must not be found.
        }
    }

    private static func read(_ store: UserStore, _ told: Told, _ machine: String) {
        let known = told.written.withLock { $0 }
        guard let found = try? store.fetch(FetchDescriptor<Habit>()).map(\.name) else { return }
        let missing = known.subtracting(found)
        guard !missing.isEmpty else { return }
        told.complaints.withLock { $0.append("\(machine) did not read \(missing.sorted().prefix(3))") }
    }

    /// One attempt to move the user; most are refused, because the other machine has moved the user in the meantime.
    private static func move(_ store: UserStore, _ user: StagedUser, _ step: Int) -> Bool {
        do {
            switch step {
            case 0, 1: try store.demote()
            case 2:
                try user.want("complete", kill: true)
                store.reloadFlags()
                _ = try store.applyKill()
                try user.want("complete")
                store.reloadFlags()
                return try store.rearm(by: "test")
            default:
                for _ in 0..<5 { _ = try store.fetchCount(FetchDescriptor<Habit>()) }
                return try store.advance()?.isOpen ?? false
            }
            return true
        } catch {
            return false
        }
    }
}
