import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#endif

/// A file system in an image with a power switch.
struct Disk {
    let image: String
    let mount: String

    /// Mounts it; the file system replays its journal if necessary.
    func attach() throws { try Self.command("mount", "-o", "loop", image, mount) }

    /// Unmounts it. A thread that is closing files, or a child that is being killed, may keep it busy for a moment.
    func detach() throws {
        let deadline = Date(timeIntervalSinceNow: Self.detachingSeconds)
        while true {
            do { return try Self.command("umount", mount, errors: .nullDevice) } catch  where Date() < deadline {
                usleep(Self.detachingPauseMicroseconds)
            }
        }
    }

    /// Syncs everything written so far to the disk.
    func synchronize() throws { try Self.command("sync", "--file-system", mount) }

    /// Drops everything that was not synced, even the journal's log.
    func cutPower() throws {
        #if os(Linux)
        let folder = open(mount, O_RDONLY)
        guard folder >= 0 else { throw Self.error("cannot open the mounted folder") }
        defer { close(folder) }
        var flags = Self.withoutLogFlush
        guard ioctl(folder, Self.shutdownRequest, &flags) == 0 else {
            throw Self.error("cannot shut down the file system")
        }
        #else
        throw HabitStoreError(.unsupported, "power cuts need Linux")
        #endif
    }

    private static let detachingSeconds = 10.0
    private static let detachingPauseMicroseconds: UInt32 = 20_000

    /// `_IOR('X', 125, uint32_t)`: EXT4_IOC_SHUTDOWN, the same number as XFS's.
    private static let shutdownRequest: UInt = 0x8004_587D
    /// EXT4_GOING_FLAGS_NOLOGFLUSH.
    private static let withoutLogFlush: UInt32 = 2

    private static func error(_ what: String) -> HabitStoreError {
        HabitStoreError(.inputOutput, "\(what): \(String(cString: strerror(errno)))")
    }

    private static func command(_ arguments: String..., errors: FileHandle = .standardError) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw HabitStoreError(.inputOutput, "\(arguments.joined(separator: " ")) failed")
        }
    }
}
