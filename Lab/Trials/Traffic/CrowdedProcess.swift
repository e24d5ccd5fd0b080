import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreRollout
import HabitTracker
import StandardEngines
import Synchronization

/// A process that has as many files open as it may when a user's mirror first fails.
enum CrowdedProcess {
    /// The time for the mirror to retry several times, in seconds.
    private static let retryingSeconds = 0.5

    /// Uses the user `alice`, whose mirror cannot be opened, at first because the process has no file descriptors left.
    ///
    /// - Returns: the number of drafts at the end.
    static func run(root: String, flags: String) throws -> Int {
        let taken = Mutex<[Int32]?>(nil)
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.mirror.retrySeconds = 0.05
        options.logger.logLevel = .critical
        options.opener = { address, access, schema in
            guard address.engine == .lmdb else { return try address.open(access, schema: schema) }
            taken.withLock { if $0 == nil { $0 = allFiles() } }
            throw HabitStoreError(.inputOutput, "no more files can be opened", at: .init(path: address.path))
        }
        let stores = try UserStores(root: root, flags: flags, schema: HabitSchema.current, options: options)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        Thread.sleep(forTimeInterval: retryingSeconds)
        guard let files = taken.withLock({ $0 }), !files.isEmpty else {
            throw HabitStoreError(.internalInconsistency, "the mirror was not opened")
        }
        for file in files { close(file) }
        try store.save(Draft(content: "after"))
        return try store.fetchCount(FetchDescriptor<Draft>())
    }

    private static func allFiles() -> [Int32] {
        var files: [Int32] = []
        while true {
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return files }
            files.append(file)
        }
    }
}
