import Foundation
import HabitStore

/// A disk of a few megabytes in memory, which exists as long as this object. Linux and the superuser only.
package final class SmallDisk {
    /// Whether this process can create a disk.
    package static let isAllowed: Bool = {
        guard getuid() == 0, let disk = try? SmallDisk(megabytes: 1) else { return false }
        return FileManager.default.fileExists(atPath: disk.path)
    }()

    package let path: String

    package init(megabytes: Int) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard try Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path) == 0 else {
            try? FileManager.default.removeItem(atPath: path)
            throw HabitStoreError(.permissionDenied, "cannot mount a disk here")
        }
    }

    deinit {
        // Lazily: a store that a failed test left open must not keep the disk mounted.
        _ = try? Self.run("umount", "-l", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Fills the disk to the last byte.
    package func fill() throws {
        let descriptor = open(path + "/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "cannot fill the disk", path) }
        defer { close(descriptor) }
        for size in [65_536, 4_096, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
    }

    /// Removes the file that filled the disk.
    package func drain() { unlink(path + "/full") }

    /// Remounts the disk read-only, even for the superuser, or writable again.
    package func setWritable(_ isWritable: Bool) throws {
        guard try Self.run("mount", "-o", "remount,\(isWritable ? "rw" : "ro")", path) == 0 else {
            throw HabitStoreError(.permissionDenied, "cannot remount the disk")
        }
    }

    private static func run(_ arguments: String...) throws -> Int32 {
        #if os(iOS)
        // iOS has no other processes.
        throw HabitStoreError(.unsupported, "cannot mount a disk here")
        #else
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
        #endif
    }
}
