import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// SQLite opens a log that it may not write to read-only, and keeps it that way: a process that opened its user while the disk was briefly mounted
/// read-only refused every write until it was restarted.
struct ReadOnlyHandleTests {
    @Test(arguments: [Stage.off, .dualwrite, .live, .complete])
    func aStoreThatWasOpenedWhileItsDiskWasReadOnlyIsOpenedAnew(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let serving = try user.staged.address(stage.authority)
        let refusing = FaultPlan()
        refusing.inject(Fault(.fail(.permissionDenied), on: [.write]))
        let openings = Mutex(0)
        let store = try user.staged.stores { options in
            options.opener = { address, access, schema in
                let isFirst =
                    address == serving
                    && openings.withLock { count in
                        count += 1
                        return count == 1
                    }
                guard isFirst else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(refusing, path: address.path) {
                    try address.open(access, schema: schema)
                }
            }
        }.store(for: "alice")
        defer { store.close() }
        let count = try store.fetchCount(FetchDescriptor<Draft>())
        let error = #expect(throws: HabitStoreError.self) { try store.save(Draft(content: "refused")) }
        #expect(error?.code == .permissionDenied)
        try store.save(Draft(content: "taken"))
        #expect(try store.fetchCount(FetchDescriptor<Draft>()) == count + 1)
        #expect(openings.withLock { $0 } == 2)
        #expect(try store.stage() == stage)
    }
}
