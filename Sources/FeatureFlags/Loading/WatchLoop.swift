import Foundation
import Logging
import Synchronization

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
