import Foundation
import Logging

/// Watches files on a thread of its own, and tells when something may have happened to them.
///
/// It follows each path through symbolic links, and survives what people and tools do to such files: writing in place,
/// renaming over, swapping links at any place of the chain, deleting and making anew, putting a directory there. What it
/// tells is a reason to look at the file, not a promise that it changed.
final class FlagFileWatcher: Sendable {
    private let loop: WatchLoop

    /// Starts watching. `onChange` is called once for all paths when the watching has begun, so that nothing is missed
    /// between an earlier reading and it, and then with the paths to which something happened.
    ///
    /// - Parameters:
    ///   - files: Files whose content counts. One that is being written is told when it was closed, or has come to rest.
    ///   - sentinels: Files whose existence counts. It is told at once; links are not followed at the end of the path.
    ///   - options: How they are watched.
    ///   - logger: Told where the system's notifications are not to be had.
    ///   - onChange: Called on the watching thread.
    init(
        files: [String],
        sentinels: [String] = [],
        options: WatchOptions = WatchOptions(),
        logger: Logger = Logger(label: "feature-flags"),
        onChange: @escaping @Sendable (Set<String>) -> Void
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
