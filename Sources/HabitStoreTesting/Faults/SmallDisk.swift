import Foundation
import HabitStore

/// A disk of a few megabytes, in memory, for as long as this object.
final class SmallDisk {
    /// Whether this machine lets one be made.
    static let isAllowed: Bool = {
        guard getuid() == 0, let disk = try? SmallDisk(megabytes: 1) else { return false }
        return FileManager.default.fileExists(atPath: disk.path)
    }()

    let path: String

    init(megabytes: Int) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard try Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path) == 0 else {
            try? FileManager.default.removeItem(atPath: path)
            throw HabitStoreError(.permissionDenied, "no disk can be mounted here")
        }
    }

    deinit {
        // Lazily: a store that a failed test left open must not keep it.
        _ = try? Self.run("umount", "-l", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func run(_ arguments: String...) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
