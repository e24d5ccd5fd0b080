import DurableFiles
import Foundation
import HabitStore

/// Shows, without opening a store, that a user may have been moved or written to: the contents of the control file, and the size of the evidence.
/// Reading it takes no lock, keeps nothing open, and costs writers nothing.
package struct UserSigns: Sendable, Hashable {
    /// The control file's cells, which moves and the evidence change, without the mark and the bell. Empty if there is no control file.
    package let place: [UInt64]
    /// The token of the mark, which every acknowledged write raises.
    package let mark: UInt64
    /// The size of the evidence, and its modification time in nanoseconds. Empty if there is none.
    package let evidence: [Int64]

    /// A hash that is the same in every process: 64 bits of FNV-1a over ``place`` and ``evidence``.
    package var fingerprint: Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for word in place + evidence.map(UInt64.init(bitPattern:)) {
            for shift in stride(from: 0, to: 64, by: 8) {
                hash = (hash ^ (word >> shift & 0xFF)) &* 0x100_0000_01B3
            }
        }
        return Int(truncatingIfNeeded: hash)
    }

    init(_ directory: UserDirectory) {
        var cells = Self.cells(directory.path + "/control") ?? []
        mark = cells.isEmpty ? 0 : ControlFile.numbered(cell: cells[ControlFile.Place.mark])
        for cell in [ControlFile.Place.mark, ControlFile.Place.bell] where cell < cells.count { cells[cell] = 0 }
        place = cells
        evidence = Self.figures(EvidenceLog(directory).path)
    }

    /// nil if there is no control file, or it does not have its full size yet.
    private static func cells(_ path: String) -> [UInt64]? {
        guard let file = try? OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var cells = [UInt64](repeating: 0, count: ControlFile.cellCount)
        let count = cells.withUnsafeMutableBytes { try? file.read(into: $0, at: 0) }
        return count == cells.count * MemoryLayout<UInt64>.size ? cells : nil
    }

    private static func figures(_ path: String) -> [Int64] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [] }
        #if canImport(Darwin)
        let written = status.st_mtimespec
        #else
        let written = status.st_mtim
        #endif
        return [Int64(status.st_size), Int64(written.tv_sec) * 1_000_000_000 + Int64(written.tv_nsec)]
    }
}

extension UserStores {
    /// The signs that tell a watcher when to read the user's status again.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid user id.
    package func signs(of user: String) throws -> UserSigns { UserSigns(try directory(of: user)) }
}

/// Shows that the status of all users may have changed: the flag files, the kill switch's files, and the gate's policy.
package struct RootSigns: Sendable, Hashable {
    let flags: String
    let isKillPulled: Bool
    let isKillRemembered: Bool
    let gate: GatePolicy
}

extension UserStores {
    /// The signs from when these stores were opened, or the flags last read.
    package var signs: RootSigns {
        RootSigns(
            flags: flags.identity,
            isKillPulled: place.killRoots.contains { root in
                var status = stat()
                return lstat(RolloutFlags.sentinelPath(root: root), &status) == 0
            },
            isKillRemembered: flags.places.contains(where: \.latch.isSet),
            gate: options.gate
        )
    }
}
