import Foundation

/// Reads a flag file's bytes and tells apart the ways in which that can fail.
package enum FlagFileReader {
    /// - Parameters:
    ///   - kind: The file's name in errors.
    ///   - onOpen: Called with the file's descriptor before anything is read.
    package static func read(
        path: String,
        kind: SourceText.Kind = .flags,
        onOpen: (Int32) -> Void = { _ in }
    ) throws(FlagError) -> [UInt8] {
        let kind = kind.name
        let location = FlagError.Location(file: path)
        guard !path.utf8.contains(0) else {
            throw FlagError(.fileNotFound, "the path holds a NUL byte; no file can have such a name", at: location)
        }
        // O_NONBLOCK: opening a pipe without a writer would wait forever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw openError(errno, kind, location) }
        defer { close(descriptor) }
        onOpen(descriptor)
        try requireRegularFile(descriptor, kind, location)
        return try readAll(descriptor, kind, location)
    }

    package static func tooLarge(_ location: FlagError.Location, _ kind: String = SourceText.Kind.flags.name)
        -> FlagError
    {
        FlagError(
            .fileTooLarge,
            "the \(kind) is larger than \(FlagLimits.fileSizeBytes) bytes; split it or shorten its lists",
            at: location
        )
    }

    private static func openError(_ number: Int32, _ kind: String, _ location: FlagError.Location) -> FlagError {
        switch number {
        case ENOENT, ENOTDIR:
            return FlagError(.fileNotFound, "there is no \(kind) at this path", at: location)
        default:
            return FlagError(
                .fileUnreadable,
                "the \(kind) cannot be opened: \(String(cString: strerror(number)))",
                at: location
            )
        }
    }

    private static func requireRegularFile(
        _ descriptor: Int32,
        _ kind: String,
        _ location: FlagError.Location
    ) throws(FlagError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw FlagError(
                .fileUnreadable,
                "the \(kind) cannot be examined: \(String(cString: strerror(errno)))",
                at: location
            )
        }
        let type = status.st_mode & S_IFMT
        guard type == S_IFREG else {
            let what = type == S_IFDIR ? "a directory" : "neither a file nor a link to one"
            throw FlagError(.notAFile, "the path is \(what); name the \(kind) itself", at: location)
        }
        guard Int64(status.st_size) <= Int64(FlagLimits.fileSizeBytes) else { throw tooLarge(location, kind) }
    }

    /// The size that `fstat` gave is not relied on: the file may grow while it is read.
    private static func readAll(
        _ descriptor: Int32,
        _ kind: String,
        _ location: FlagError.Location
    ) throws(FlagError) -> [UInt8] {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { buffer in
                Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count == 0 { return content }
            if count < 0 {
                let number = errno
                if number == EINTR { continue }
                throw FlagError(
                    .fileUnreadable,
                    "the \(kind) cannot be read: \(String(cString: strerror(number)))",
                    at: location
                )
            }
            content.append(contentsOf: chunk[..<count])
            guard content.count <= FlagLimits.fileSizeBytes else { throw tooLarge(location, kind) }
        }
    }
}
