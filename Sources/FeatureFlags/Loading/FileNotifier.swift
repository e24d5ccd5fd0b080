import Foundation

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
