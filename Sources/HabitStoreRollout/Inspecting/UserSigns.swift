import DurableFiles
import Foundation
import HabitStore

/// What tells without a look into a store that a user may have been moved or written to: what the control file says, and how long
/// the evidence is. Reading it takes no lock, keeps nothing open, and costs writers nothing.
package struct UserSigns: Sendable, Hashable {
    /// What moves and the evidence change in the control file: everything but the mark and the bell. Empty where there is none.
    package let place: [UInt64]
    /// The token of the mark, which every acknowledged write raises.
    package let mark: UInt64
    /// The size of the evidence, and when it was last written to in nanoseconds. Empty where there is none.
    package let evidence: [Int64]

    /// The same in a number that means the same in each process: 64 bits of FNV-1a over ``place`` and ``evidence``.
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

    /// nil where there is no control file, or one that has not got its size yet.
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
    /// The signs by which whoever watches a user can tell that another look is due.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for what cannot be a user's id.
    package func signs(of user: String) throws -> UserSigns { UserSigns(try directory(of: user)) }
}

/// What tells that everybody's status may have become another one: the flag files, the kill switch's files, and what the gate asks for.
package struct RootSigns: Sendable, Hashable {
    let flags: String
    let isKillPulled: Bool
    let isKillRemembered: Bool
    let gate: GatePolicy
}

extension UserStores {
    /// The signs as they were when these stores were made, or flags were last read.
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
