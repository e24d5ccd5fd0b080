import CLMDB
import Foundation
import HabitStore

/// The files that this process has open, by device and inode: LMDB must not open one twice.
final class LMDBRegistry: @unchecked Sendable {
    static let shared = LMDBRegistry()

    private enum Entry {
        /// Being opened, closed or read by the inspector; other threads wait.
        case changing
        case open(LMDBEnvironmentCore, count: Int)
    }

    /// How long an opening waits for another thread's opening, closing or check of the same file, in seconds.
    private static let maximumWaitSeconds = 60.0
    /// How often creating a missing file is tried; more than one attempt is only needed if it is removed meanwhile.
    private static let maximumCreateAttempts = 3

    private let condition = NSCondition()
    private var entries: [LMDBFileIdentity: Entry] = [:]
    /// The open file at each place. Two files at the same place would share a lock file.
    private var identities: [LMDBFilePlace: LMDBFileIdentity] = [:]

    /// Shares the file's environment, or opens it. Each `acquire` needs one ``release(_:)``.
    func acquire(path: String, options: LMDBOptions) throws -> LMDBEnvironmentCore {
        for _ in 0...Self.maximumCreateAttempts {
            if let core = try acquireExisting(path: path, options: options) {
                guard !options.isReadOnly else { return core }
                do {
                    try core.makeWritable()
                } catch {
                    release(core)
                    throw error
                }
                return core
            }
            guard options.createsIfMissing, !options.isReadOnly else {
                throw LMDBError.error(.notFound, "there is no store", path: path)
            }
            try LMDBFileCreator.create(path: path, mapSizeBytes: options.roundedMapSizeBytes)
        }
        throw LMDBError.error(.notFound, "the file cannot be made; is it a link to a file that is missing?", path: path)
    }

    /// Releases one share; the last one closes the environment.
    func release(_ core: LMDBEnvironmentCore) {
        condition.lock()
        guard case .open(let found, let count) = entries[core.identity], found === core else {
            condition.unlock()
            return
        }
        guard count == 1 else {
            entries[core.identity] = .open(core, count: count - 1)
            condition.unlock()
            return
        }
        entries[core.identity] = .changing
        condition.unlock()
        // No thread is inside: every handle was closed and its transactions have ended.
        core.gate.lock()
        core.closeEnvironment()
        core.gate.unlock()
        forget(core.identity, place: core.place)
    }

    /// Runs `body` on the file's bytes: through the open environment's descriptor if this process has the file open (opening and
    /// closing a second one would drop the process's locks), otherwise through a separate one, while openings wait.
    func withBytes<Result>(path: String, _ body: (LMDBPageSource) throws -> Result) throws -> Result {
        condition.lock()
        guard let (identity, _) = try reserve(path: path) else {
            throw LMDBError.error(.notFound, "there is no store", path: path)
        }
        if case .open(let core, let count) = entries[identity] {
            entries[identity] = .open(core, count: count + 1)
            condition.unlock()
            let handle = LMDBEnvironment(sharing: core)
            defer { handle.close() }
            return try handle.withRead { _ in try body(try core.pageSource()) }
        }
        entries[identity] = .changing
        condition.unlock()
        defer { forget(identity, place: nil) }
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        return try body(source)
    }

    private func acquireExisting(path: String, options: LMDBOptions) throws -> LMDBEnvironmentCore? {
        condition.lock()
        guard let (identity, isLink) = try reserve(path: path) else { return nil }
        if case .open(let core, let count) = entries[identity] {
            entries[identity] = .open(core, count: count + 1)
            condition.unlock()
            return core
        }
        let lasting: String
        let place: LMDBFilePlace
        do {
            lasting = try LMDBPlatform.lastingPath(path, isLink: isLink)
            place = try LMDBFilePlace(path: lasting)
            if let other = identities[place], other != identity {
                throw LMDBError.error(
                    .busy,
                    "the file was replaced while this process had it open; close the old one first",
                    path: path
                )
            }
        } catch {
            condition.unlock()
            throw error
        }
        entries[identity] = .changing
        identities[place] = identity
        condition.unlock()
        return try openNew(path: lasting, identity: identity, place: place, options: options)
    }

    private func openNew(
        path: String,
        identity: LMDBFileIdentity,
        place: LMDBFilePlace,
        options: LMDBOptions
    ) throws -> LMDBEnvironmentCore {
        let core = LMDBEnvironmentCore(path: path, identity: identity, place: place, options: options)
        do {
            core.gate.lock()
            defer { core.gate.unlock() }
            try core.openEnvironment()
        } catch {
            forget(identity, place: place)
            throw error
        }
        condition.lock()
        entries[identity] = .open(core, count: 1)
        condition.broadcast()
        condition.unlock()
        return core
    }

    /// Finds the file and waits until no other thread changes its entry. The lock is held on return, unless this returns nil or
    /// throws.
    private func reserve(path: String) throws -> (identity: LMDBFileIdentity, isLink: Bool)? {
        let deadline = Date(timeIntervalSinceNow: Self.maximumWaitSeconds)
        do {
            while true {
                switch try LMDBFileIdentity.lookup(path: path) {
                case .missing:
                    condition.unlock()
                    return nil
                case .other:
                    throw LMDBError.error(.notAStore, "a folder or a device is not a store", path: path)
                case .file(let identity, let isLink):
                    guard case .changing = entries[identity] else { return (identity, isLink) }
                    guard condition.wait(until: deadline) else {
                        throw LMDBError.error(.busy, "another thread opens, closes or checks the file", path: path)
                    }
                }
            }
        } catch {
            condition.unlock()
            throw error
        }
    }

    private func forget(_ identity: LMDBFileIdentity, place: LMDBFilePlace?) {
        condition.lock()
        entries[identity] = nil
        if let place { identities[place] = nil }
        condition.broadcast()
        condition.unlock()
    }
}
