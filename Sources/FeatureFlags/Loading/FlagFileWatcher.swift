import Foundation
import Logging

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
