import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store whose file is moved while it is open, and the outcome of a write to it.
@_spi(Engines) public struct MovedFile<Store: FileBackedStore> {
    /// The outcome of a write.
    public struct Outcome {
        /// The code of the write's error; nil if the write was acknowledged.
        public let code: HabitStoreError.Code?
        /// Whether the write's closure ran.
        public let hasRun: Bool
        /// The tags at the path afterwards, read by a store that was opened again and accepts writes.
        public let names: [String]
        /// The findings of that store's check.
        public let findings: [StoreFinding]
    }

    private let path: String

    /// - Parameter path: the store's path; its folder belongs to the test.
    public init(path: String) { self.path = path }

    /// The name of the tag that the file contains before it is moved.
    public static var kept: String { "before" }

    /// Opens a store with an empty log, so that the file alone is the store.
    public func open() throws -> Store {
        let store = try Store(path: path, schema: HabitSchema.current, access: .create)
        try store.save(Tag(name: Self.kept))
        store.close()
        return try Store(path: path, schema: HabitSchema.current, access: .readWrite)
    }

    /// Writes after the file was moved.
    public func write(after fate: FileTampering) throws -> Outcome {
        let store = try open()
        try fate.befall(path)
        return try outcome(store) { _ in }
    }

    /// Moves the file in the closure of a write.
    public func write(during fate: FileTampering) throws -> Outcome {
        try outcome(try open()) { transaction in
            try transaction.insert(Tag(name: "lost"))
            try fate.befall(path)
        }
    }

    private func outcome(_ store: Store, _ body: (any WriteTransaction) throws -> Void) throws -> Outcome {
        var hasRun = false
        var code: HabitStoreError.Code?
        do {
            try store.write { transaction in
                hasRun = true
                try body(transaction)
            }
        } catch let error as HabitStoreError {
            code = error.code
        }
        store.close()
        let present = try Store(path: path, schema: HabitSchema.current, access: .create)
        defer { present.close() }
        let names = try present.all(Tag.self).map(\.name)
        try present.save(Tag(name: "new"))
        return Outcome(code: code, hasRun: hasRun, names: names, findings: try present.check { _ in })
    }
}

/// What can happen to a store's file while a process has it open.
public enum FileTampering: CaseIterable, Sendable {
    /// A copy of the folder replaced the folder, as when a backup is restored.
    case folderSwapped
    /// A copy of the file replaced the file.
    case fileReplacedByACopy
    /// The file was deleted.
    case fileDeleted

    /// Does it to the file, whose folder belongs to the test.
    public func befall(_ path: String) throws {
        let manager = FileManager.default
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        switch self {
        case .folderSwapped:
            try manager.copyItem(atPath: folder, toPath: folder + "-copy")
            try manager.moveItem(atPath: folder, toPath: folder + "-away")
            try manager.moveItem(atPath: folder + "-copy", toPath: folder)
        case .fileReplacedByACopy:
            try manager.copyItem(atPath: path, toPath: path + "-copy")
            try manager.removeItem(atPath: path)
            try manager.moveItem(atPath: path + "-copy", toPath: path)
        case .fileDeleted: try manager.removeItem(atPath: path)
        }
    }
}

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
        return try ChildProcess.run(arguments[0], Array(arguments.dropFirst()), errors: .discarded).status
        #endif
    }
}
