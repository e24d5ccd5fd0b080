/// What a process of the tangle has left on its standard error when a signal ended it, or when it failed.
package struct TangleDeath {
    /// What it said itself, before any trace.
    private let messages: [Substring]
    /// Whether `system_faults_tell_deaths` found that no memory was left.
    private let hadNoMemory: Bool
    /// Where it was, the innermost first: the file of the library or program, and what is known of the place in it.
    private let frames: [Substring]

    /// What libraries say that are given no memory.
    private static let words = ["bad_alloc", "failed to allocate", "cannot allocate memory", "no memory"]
    /// The C library, which others call, and is called by what handles the signal.
    private static let callees = ["libc.so", "libc-", "linux-vdso"]
    /// The libraries that Swift itself stands on.
    private static let runtimes = ["libswift", "libFoundation", "lib_Foundation", "libdispatch", "libstdc++"]

    /// - Parameter errors: all of its standard error.
    package init(errors: String) {
        let lines = errors.split(separator: "\n")
        let place = lines.firstIndex { $0.hasPrefix("died of signal ") }
        messages = Array(lines[..<(place ?? lines.endIndex)].prefix { !$0.hasPrefix("Current stack trace") })
        hadNoMemory = place.map { lines[$0].contains("no memory left") } ?? false
        // `/usr/lib/libc.so.6(abort+0xd3)[0x7f00]`
        let files = place.map { lines[($0 + 1)...] }?.map {
            $0[($0.prefix { $0 != "(" }.lastIndex(of: "/") ?? $0.startIndex)...]
        }
        frames = (files ?? []).map { $0.drop { $0 == "/" } }
    }

    /// Whether it is Swift itself that could not do without memory: no program can then.
    ///
    /// Swift's runtime needs memory to say so, too. Where there is none, it ends the process without a word, by a trap or by following
    /// a null pointer. In our own code, or in an engine's library, that is a fault like any other.
    package var isForWantOfMemory: Bool {
        guard messages.isEmpty else {
            return messages.contains { line in Self.words.contains { line.lowercased().contains($0) } }
        }
        guard hadNoMemory, let place else { return false }
        return Self.runtimes.contains { place.hasPrefix($0) }
    }

    /// What it was, in a line.
    package var summary: String { String(messages.first ?? place ?? "") }

    /// The innermost place that is not in the C library.
    private var place: Substring? { frames.first { frame in !Self.callees.contains { frame.hasPrefix($0) } } }
}
