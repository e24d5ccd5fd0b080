import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// One damaged byte in the header or first frame of `store.sqlite-wal`: the user was refused as "put back from a copy", and by then the log was
/// emptied, from which the acknowledged records could have been saved. A refusal now leaves every byte in place and names the damaged log.
@Suite(.timeLimit(.minutes(5)))
struct DamagedLogTests {
    enum Damage: String, CaseIterable {
        case header, zeroedHeader, firstFrame, cut
        /// Those that tell by their bytes alone that an acknowledged commit is there.
        static let certain: [Damage] = [.header, .zeroedHeader, .firstFrame]

        func apply(to log: inout Data) {
            switch self {
            case .header: log[9] ^= 1
            case .zeroedHeader: log.replaceSubrange(0..<32, with: Data(count: 32))
            case .firstFrame: log[32 + 24 + 100] ^= 1
            case .cut: log.removeLast()
            }
        }
    }

    /// A user whose last records are only in a damaged log of the old store, as after a killed process.
    private struct DamagedUser {
        let user: StagedUser
        let path: String
        let file: Data
        let log: Data

        init(at stage: Stage, _ damage: Damage, records: [String]) throws {
            user = try StagedUser(old: .sqlite)
            let first = try user.stores().store(for: "alice")
            try first.save(Draft(content: "a"))
            try user.bring(first, to: stage) { _ = try $0.all(Draft.self) }
            _ = first.waitUntilMirrorIsIdle(waitSeconds: 60)
            first.close()
            path = try user.address(.old).path
            let second = try user.stores().store(for: "alice")
            for record in records { try second.save(Draft(content: record)) }
            _ = second.waitUntilMirrorIsIdle(waitSeconds: 60)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
            file = try Data(contentsOf: URL(fileURLWithPath: path))
            second.close()
            damage.apply(to: &bytes)
            log = bytes
            try? FileManager.default.removeItem(atPath: path + "-shm")
            for (suffix, data) in [("", file), ("-wal", log)] {
                // In place, so that the control file and the stores stay the user's.
                let handle = try #require(FileHandle(forUpdatingAtPath: path + suffix))
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: data)
                try handle.close()
            }
        }

        func expectUntouched(_ after: String) throws {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == file, "\(after) changed the file")
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == log, "\(after) changed the log")
        }
    }

    @Test(arguments: [Stage.off, .shadow], Damage.certain)
    func aRefusalLeavesTheLogAndNamesIt(stage: Stage, damage: Damage) throws {
        let damaged = try DamagedUser(at: stage, damage, records: ["b", "c"])
        let user = damaged.user
        for round in ["an opening", "a second one"] {
            let error = #expect(throws: HabitStoreError.self) {
                try user.with { try $0.save(Draft(content: "d")) }
            }
            #expect(error?.message.contains("store.sqlite-wal") == true, "\(String(describing: error))")
            #expect(error?.message.contains("is damaged") == true, "\(String(describing: error))")
            try damaged.expectUntouched(round)
        }
        #expect(throws: HabitStoreError.self) { try user.stores().currentAddress(of: "alice") }
        #expect(try !user.stores().examine("alice").isEmpty, "the doctor finds nothing")
        try damaged.expectUntouched("looking")
        try user.want("complete")
        _ = try? user.stores().store(for: "alice").close()
        try damaged.expectUntouched("a move forward")
        try user.want("off", kill: true)
        _ = try? user.stores().store(for: "alice").close()
        try damaged.expectUntouched("a kill")
    }

    /// From the bytes alone it might be what a power cut leaves of an unfinished commit, but the control file knows that it was acknowledged.
    @Test(arguments: [Stage.off, .shadow], [Damage.firstFrame, .cut])
    func aSingleAcknowledgedCommitIsNotDroppedEither(stage: Stage, damage: Damage) throws {
        let damaged = try DamagedUser(at: stage, damage, records: ["b"])
        for round in ["an opening", "a second one"] {
            let error = #expect(throws: HabitStoreError.self) {
                try damaged.user.with { try $0.save(Draft(content: "d")) }
            }
            if stage == .off { #expect(error?.code == .staleStore) }
            #expect(
                error?.message.contains("its log (store.sqlite-wal) is damaged") == true,
                "\(String(describing: error))"
            )
            try damaged.expectUntouched(round)
        }
    }
}
