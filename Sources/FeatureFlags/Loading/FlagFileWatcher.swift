import Foundation
import Logging
import Synchronization

/// Watches files on a separate thread, and reports when something may have happened to them.
///
/// It follows each path through symbolic links, and survives what people and tools do to such files: writing in place, renaming over, swapping
/// links anywhere in the chain, deleting and recreating, putting a directory there. A report is a reason to look at the file, not a promise that it
/// changed.
final class FlagFileWatcher: Sendable {
    private let loop: WatchLoop

    /// Starts watching. `onChange` is called once for all paths when watching has begun, so that no change since an earlier read is
    /// missed, and then with the paths that may have changed.
    ///
    /// - Parameters:
    ///   - files: Files whose content counts. A file that is being written is reported after it was closed, or has stopped
    ///     changing.
    ///   - sentinels: Files whose existence counts. They are reported immediately; links at the end of the path are not followed.
    ///   - options: How to watch.
    ///   - logger: Logs if the system's notifications are unavailable.
    ///   - onChange: Called on the watching thread; returns the state in which it read each path. A path that it leaves out counts
    ///     as read in its state before the call.
    init(
        files: [String],
        sentinels: [String] = [],
        options: WatchOptions = WatchOptions(),
        logger: Logger = Logger(label: "feature-flags"),
        onChange: @escaping @Sendable (Set<String>) -> [String: FileFingerprint]
    ) {
        let loop = WatchLoop(files: files, sentinels: sentinels, options: options, logger: logger, onChange: onChange)
        self.loop = loop
        let thread = Thread { loop.run() }
        thread.name = "feature-flags"
        thread.stackSize = 1 << 20
        thread.start()
    }

    deinit { stop() }

    /// Stops watching. A call of `onChange` that has begun may still be under way.
    func stop() { loop.stop() }
}

/// How files are watched.
public struct WatchOptions: Sendable, Equatable {
    /// Whether to use the system's change notifications (inotify, on Linux). Without them, files are polled.
    public var usesNotifications: Bool
    /// How often files are polled, in milliseconds. Files are polled even with notifications, which network file systems and some renames of directories do not
    /// send.
    public var pollMilliseconds: Int
    /// How long a file must rest that is being written, in milliseconds, before it is read.
    public var settleMilliseconds: Int

    /// Chooses how files are watched.
    public init(usesNotifications: Bool = true, pollMilliseconds: Int = 1000, settleMilliseconds: Int = 25) {
        self.usesNotifications = usesNotifications
        self.pollMilliseconds = max(1, pollMilliseconds)
        self.settleMilliseconds = max(0, settleMilliseconds)
    }
}

/// The watching thread: waits for the system's notifications and for the time to look at files.
final class WatchLoop: Sendable {
    private let files: Set<String>
    private let sentinels: Set<String>
    private let options: WatchOptions
    private let logger: Logger
    private let onChange: @Sendable (Set<String>) -> [String: FileFingerprint]
    private let isStopped = Atomic<Bool>(false)
    /// Written to in order to end the waiting.
    private let wakeUp = Pipe()

    /// How long a file that never rests is waited for, as a multiple of the time that it should rest.
    static let restPatience = 20

    /// How often paths are looked at again that change all the while; then the next look comes with the poll.
    private static let watchAttempts = 16

    private struct Resting {
        let first: ContinuousClock.Instant
        var deadline: ContinuousClock.Instant
    }

    /// What only the thread itself touches.
    private struct Progress {
        var notifier: FileNotifier?
        var chains: [String: WatchedPath] = [:]
        var fingerprints: [String: FileFingerprint] = [:]
        var resting: [String: Resting] = [:]
        var nextPoll: ContinuousClock.Instant
    }

    init(
        files: [String],
        sentinels: [String],
        options: WatchOptions,
        logger: Logger,
        onChange: @escaping @Sendable (Set<String>) -> [String: FileFingerprint]
    ) {
        self.files = Set(files)
        self.sentinels = Set(sentinels)
        self.options = options
        self.logger = logger
        self.onChange = onChange
    }

    func stop() {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Without a descriptor for the pipe there is no thread to wake: it notices at its next poll.
        var byte: UInt8 = 0
        _ = write(wakeUp.fileHandleForWriting.fileDescriptor, &byte, 1)
    }

    func run() {
        var progress = Progress(nextPoll: .now)
        if options.usesNotifications {
            progress.notifier = FileNotifier()
            if progress.notifier == nil {
                logger.warning("file change notifications are not available; polling instead")
            }
        }
        watch(&progress)
        _ = changedFingerprints(&progress)
        report(files.union(sentinels), &progress)
        while !isStopped.load(ordering: .acquiring) { step(&progress) }
    }

    private func step(_ progress: inout Progress) {
        wait(progress)
        guard !isStopped.load(ordering: .acquiring) else { return }
        let events = progress.notifier?.events() ?? []
        var changed: Set<String> = []
        let isTouched = events.reduce(false) { note($1, &progress, &changed) || $0 }
        let now = ContinuousClock.now
        changed.formUnion(progress.resting.filter { $0.value.deadline <= now }.keys)
        for path in changed { progress.fingerprints[path] = fingerprint(path) }
        report(changed, &progress)
        guard isTouched || !changed.isEmpty || now >= progress.nextPoll else { return }
        // Something on the way to a file may be another one now. What happened between the change and the new watch
        // shows in the fingerprints.
        watch(&progress)
        let noticed = changedFingerprints(&progress)
        report(noticed.intersection(sentinels), &progress)
        for path in noticed.subtracting(sentinels) { rest(path, &progress) }
        progress.nextPoll = now + .milliseconds(options.pollMilliseconds)
    }

    /// Returns whether the event is about a watched path at all.
    private func note(_ event: FileNotifier.Event, _ progress: inout Progress, _ changed: inout Set<String>) -> Bool {
        var isTouched = false
        for (path, chain) in progress.chains {
            if let directory = event.directory {
                guard let names = chain.names[directory] else { continue }
                if let name = event.name, !names.contains(name) { continue }
            }
            isTouched = true
            if event.isBeingWritten && !sentinels.contains(path) {
                rest(path, &progress)
            } else {
                changed.insert(path)
            }
        }
        return isTouched
    }

    /// Lets a file come to rest before it is read.
    private func rest(_ path: String, _ progress: inout Progress) {
        let now = ContinuousClock.now
        var resting = progress.resting[path] ?? Resting(first: now, deadline: now)
        let latest = resting.first + .milliseconds(options.settleMilliseconds * Self.restPatience)
        resting.deadline = min(latest, now + .milliseconds(options.settleMilliseconds))
        progress.resting[path] = resting
    }

    /// Reports paths, and remembers the state in which each was read. The state before or after the report would not do: a file that is made, read and
    /// deleted meanwhile has the same fingerprint on both sides, and its content would stay in force.
    private func report(_ paths: Set<String>, _ progress: inout Progress) {
        guard !paths.isEmpty else { return }
        for path in paths { progress.resting[path] = nil }
        progress.fingerprints.merge(onChange(paths)) { $1 }
    }

    /// Watches what the paths lead to now. They are checked again afterwards, since no event reports a directory created before its parent was
    /// watched.
    private func watch(_ progress: inout Progress) {
        var chains = resolvedChains()
        for _ in 0..<Self.watchAttempts {
            progress.chains = chains
            let areThere = progress.notifier?.watch(Set(chains.values.flatMap(\.names.keys))) ?? true
            chains = resolvedChains()
            if areThere && chains == progress.chains { return }
        }
    }

    private func resolvedChains() -> [String: WatchedPath] {
        var chains: [String: WatchedPath] = [:]
        for path in files.union(sentinels) { chains[path] = WatchedPath(path) }
        return chains
    }

    private func changedFingerprints(_ progress: inout Progress) -> Set<String> {
        var changed: Set<String> = []
        for path in files.union(sentinels) {
            let fingerprint = fingerprint(path)
            if progress.fingerprints.updateValue(fingerprint, forKey: path) != fingerprint { changed.insert(path) }
        }
        return changed
    }

    private func fingerprint(_ path: String) -> FileFingerprint {
        FileFingerprint(path, followsLinks: files.contains(path))
    }

    private func wait(_ progress: Progress) {
        let next = progress.resting.values.map(\.deadline).min().map { min($0, progress.nextPoll) }
        let duration = ((next ?? progress.nextPoll) - .now).components
        let milliseconds = duration.seconds * 1000 + duration.attoseconds / 1_000_000_000_000_000
        var descriptors = [pollfd(fd: wakeUp.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)]
        if let notifier = progress.notifier {
            descriptors.append(pollfd(fd: notifier.descriptor, events: Int16(POLLIN), revents: 0))
        }
        // A time that is not over yet is rounded up, so that the waiting does not turn into spinning.
        let timeout = Int32(clamping: max(0, milliseconds + (duration.attoseconds > 0 ? 1 : 0)))
        _ = poll(&descriptors, nfds_t(descriptors.count), timeout)
    }
}

/// The resolution of a path: the directories in which something can happen to it, and its end.
struct WatchedPath: Equatable {
    /// The names to look out for, by directory: of the file itself, of every link on the way to it, and, where something
    /// on the way is missing, of that.
    private(set) var names: [String: Set<String>] = [:]

    init(_ path: String) {
        var directory = "/"
        var rest = Self.components(Self.absolute(path))
        var links = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                directory = Self.parent(directory)
                continue
            }
            let entry = directory == "/" ? "/" + name : directory + "/" + name
            let target = Self.linkTarget(entry)
            if rest.isEmpty || target != nil || !Self.isDirectory(entry) { names[directory, default: []].insert(name) }
            if let target {
                links += 1
                guard links <= FlagLimits.linkDepth else { return }
                if target.hasPrefix("/") { directory = "/" }
                rest += Self.components(target)
            } else {
                guard Self.isDirectory(entry) else { return }
                directory = entry
            }
        }
    }

    /// The path's parts, the first one last.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").map(String.init).reversed()
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    private static func parent(_ directory: String) -> String {
        let parts = directory.split(separator: "/").dropLast()
        return "/" + parts.joined(separator: "/")
    }

    private static func linkTarget(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let length = readlink(path, start, buffer.count)
            return length > 0 ? String(decoding: UnsafeRawBufferPointer(buffer)[..<length], as: UTF8.self) : nil
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

/// What `stat` says of the file at the end of a path; two that differ are two states of it.
struct FileFingerprint: Equatable {
    private let error: Int32
    private var numbers: [Int] = []
    private var changedAt = 0

    /// How much later than the last change the present has to be, in seconds, for another change to show: as coarse as the clocks of
    /// file systems are.
    private static let clockSeconds = 2

    /// - Parameter followsLinks: whether the file at the end of links is meant, or the link itself.
    init(_ path: String, followsLinks: Bool) {
        var status = stat()
        let result = followsLinks ? stat(path, &status) : lstat(path, &status)
        self.init(status, error: result == 0 ? 0 : errno)
    }

    /// The state of an open file.
    init(descriptor: Int32) {
        var status = stat()
        let result = fstat(descriptor, &status)
        self.init(status, error: result == 0 ? 0 : errno)
    }

    private init(_ status: stat, error: Int32) {
        self.error = error
        guard error == 0 else { return }
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        numbers = [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            Int(status.st_mode), modified.tv_sec, modified.tv_nsec, changed.tv_sec, changed.tv_nsec,
        ]
        changedAt = max(modified.tv_sec, changed.tv_sec)
    }

    /// Whether nothing is at the path.
    var isMissing: Bool { error == ENOENT || error == ENOTDIR }

    /// Whether whatever happens to the file from now on shows in another fingerprint. A file that was changed this moment may be
    /// changed again within the same tick of the file system's clock.
    var showsChanges: Bool { error != 0 || changedAt + Self.clockSeconds < time(nil) }
}

#if canImport(Glibc) || canImport(Musl)

/// Linux's inotify, for the entries of directories.
final class FileNotifier {
    /// Something that happened to an entry of a directory.
    struct Event {
        /// The directory as passed to ``watch(_:)``; nil if events were lost, so that anything may have happened.
        let directory: String?
        /// The entry's name; nil for the directory itself.
        let name: String?
        /// Whether more events are likely: the file exists, and its writer has not closed it.
        let isBeingWritten: Bool
    }

    let descriptor: Int32
    /// The paths of each watch; one directory may stand at several.
    private var directories: [Int32: Set<String>] = [:]

    private static let mask = UInt32(
        IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR
    )

    /// nil where the system has no inotify, or no instance of it left.
    init?() {
        descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Watches these directories and no others. One that cannot be watched is left to being looked at from time to time.
    ///
    /// - Returns: Whether all of them were still there.
    func watch(_ wanted: Set<String>) -> Bool {
        var watched: [Int32: Set<String>] = [:]
        var areThere = true
        for directory in wanted {
            // Requested again each time, since another directory may have taken the path.
            let watch = inotify_add_watch(descriptor, directory, Self.mask)
            if watch >= 0 {
                watched[watch, default: []].insert(directory)
            } else if errno == ENOENT || errno == ENOTDIR {
                areThere = false
            }
        }
        for watch in directories.keys where watched[watch] == nil { _ = inotify_rm_watch(descriptor, watch) }
        directories = watched
        return areThere
    }

    /// The events since the last call.
    func events() -> [Event] {
        var events: [Event] = []
        let capacity = 64 << 10
        withUnsafeTemporaryAllocation(byteCount: capacity, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let length = read(descriptor, buffer.baseAddress, buffer.count)
                guard length > 0 else { return }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= length {
                    let header = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    let nameBytes = buffer[start..<min(length, start + Int(header.len))].prefix { $0 != 0 }
                    note(header, String(decoding: nameBytes, as: UTF8.self), &events)
                    offset = start + Int(header.len)
                }
            }
        }
        return events
    }

    private func note(_ header: inotify_event, _ name: String, _ events: inout [Event]) {
        if header.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            events.append(Event(directory: nil, name: nil, isBeingWritten: false))
            return
        }
        guard let paths = directories[header.wd], header.mask & UInt32(IN_IGNORED) == 0 else { return }
        let isCreated = header.mask & UInt32(IN_CREATE) != 0
        for directory in paths {
            // A link or a directory is complete as soon as it exists.
            let isWhole = isCreated && (header.mask & UInt32(IN_ISDIR) != 0 || Self.isLink(directory + "/" + name))
            events.append(
                Event(
                    directory: directory,
                    name: name.isEmpty ? nil : name,
                    isBeingWritten: (isCreated && !isWhole) || header.mask & UInt32(IN_MODIFY) != 0
                )
            )
        }
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}

#else

/// Where there is no inotify, files are looked at from time to time.
final class FileNotifier {
    struct Event {
        let directory: String?
        let name: String?
        let isBeingWritten: Bool
    }

    let descriptor: Int32 = -1

    init?() { return nil }

    func watch(_ wanted: Set<String>) -> Bool { true }

    func events() -> [Event] { [] }
}

#endif
